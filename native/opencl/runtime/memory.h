// SPDX-License-Identifier: Apache-2.0
/// Buffers of a device, which are kept for their next use.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_MEMORY_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_MEMORY_H_

#include <memory>
#include <mutex>
#include <vector>

#include "headlens/tensor.h"
#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// A buffer on the device; null for none. When its last owner lets go of it, it goes back to the pool that it is from.
using Memory = std::shared_ptr<const cl::Buffer>;

/// The argument that a kernel takes for a value of the host: a pointer for memory, and all else as it is.
inline cl::Buffer Argument(const Memory& memory) { return memory ? *memory : cl::Buffer(); }
template <class T>
const T& Argument(const T& value) {
  return value;
}

/// Drivers take long to make a buffer, and to free one they wait for the device. So the pool hands out again what is
/// given back. All work has to go through one queue in order: launched work is then done with memory before the work of
/// its next owner begins. Owners may let go on any thread, and after the pool is gone.
class MemoryPool {
 public:
  /// At most `most_idle` bytes wait to be used again. With 0 every buffer is new and has the size that was asked for:
  /// tools that look for reads out of bounds, or of what was never written, need that.
  MemoryPool(const cl::Context& context, Index most_idle);

  /// Returns a buffer of at least this many bytes, which are not set. Buffers are often made larger than was asked for,
  /// so that their next use finds room, but not larger than `largest`.
  Memory Take(Index bytes, Index largest);

  /// Frees all idle buffers. Returns true when there were any.
  bool Free() const;

 private:
  struct Buffer {
    cl::Buffer buffer;
    Index bytes;
  };
  struct Idle {
    std::mutex mutex;
    std::vector<Buffer> buffers;  // the latest last
    Index bytes = 0;
  };
  cl::Buffer Find(Index bytes, Index* size) const;
  static void GiveBack(Idle& idle, Index most, Buffer buffer);

  cl::Context context_;
  Index most_idle_;
  std::shared_ptr<Idle> idle_ = std::make_shared<Idle>();
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_MEMORY_H_
