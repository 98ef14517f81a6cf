// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::simd {

/// Large blocks of memory between calls: the next call of that size gets the same pages, which the system need not
/// clear, and which are in the caches. May be used by several threads. To be owned by a std::shared_ptr.
class SpareBlocks : public std::enable_shared_from_this<SpareBlocks> {
 public:
  SpareBlocks();

  /// Uninitialised. The block of a large one comes back when it is destroyed, or is freed where this is gone by then.
  Tensor Allocate(Shape shape);

 private:
  Buffer<float> Take(Index size);
  void GiveBack(Buffer<float> block);

  std::mutex mutex_;
  std::vector<Buffer<float>> spare_;  // the oldest first
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_SPARE_BLOCKS_H_
