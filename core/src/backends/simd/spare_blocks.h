// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::simd {

/// Keeps large blocks of memory between calls. The next call of the same size gets the same pages, which are still in
/// the caches and which the system need not clear. Several threads may use it. It must be owned by a std::shared_ptr.
class SpareBlocks : public std::enable_shared_from_this<SpareBlocks> {
 public:
  SpareBlocks();

  /// An uninitialised tensor. When a large one is destroyed, its block comes back here, or is freed if this object is
  /// gone.
  Tensor Allocate(Shape shape);

 private:
  Buffer<float> Take(Index size);
  void GiveBack(Buffer<float> block);

  std::mutex mutex_;
  std::vector<Buffer<float>> spare_;  // the oldest first
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_
