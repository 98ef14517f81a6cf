// SPDX-License-Identifier: Apache-2.0
/// Tensors that live on the device. Each has an address on the host too, where its elements are once they were fetched.
/// A view of such a tensor stands for both, and a pointer into it tells which elements are meant.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENTS_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENTS_H_

#include <functional>
#include <map>
#include <optional>

#include "headlens/tensor.h"
#include "opencl/runtime/memory.h"

namespace headlens::opencl {

/// A buffer, from element `first` on.
struct Elements {
  Memory buffer;
  Index first = 0;
};

class Residents {
 public:
  /// From now on the `count` floats at `host` stand for those in `buffer`. Takes hold of the buffer.
  void Add(float* host, Index count, Memory buffer);
  void Remove(const float* host);

  /// To be called when the device is lost, and with it the elements that only it had. From now on their use throws
  /// kUnsupported.
  void Lose();

  /// The elements on the device that the floats from `p` on stand for; nothing for memory of the host. With `writes`
  /// the device is about to change them.
  std::optional<Elements> Find(const float* p, bool writes = false);

  /// A copy, in numbers of 16 bits at the same places, of the tensor that `p` points into; null where there is none. It
  /// is dropped when Find is told of a change, and by Send. A caller that changes the tensor and the copy alike keeps
  /// the copy anew.
  Memory Rounded(const float* p);
  void KeepRounded(const float* p, Memory rounded);
  /// How many elements the tensor that `p` points into has; 0 for memory of the host.
  Index CountAt(const float* p);

  /// The bytes of the same tensor; 0 for memory of the host.
  Index BytesAt(const float* p);
  /// Returns true when the device has changed that tensor since the host had it.
  bool IsStale(const float* p);

  /// Copies the whole tensor that `p` points into from the host to the device, or back. Returns when that is done.
  void Send(const cl::CommandQueue& queue, const float* p);
  void Fetch(const cl::CommandQueue& queue, const float* p);

 private:
  struct Resident {
    float* host;
    Index count;
    Memory buffer;         // null once it is lost
    bool on_host = false;  // the host has the same elements
    Memory rounded{};      // null where there is none
  };
  using Map = std::map<const float*, Resident, std::greater<>>;
  Map::iterator Holding(const float* p);

  Map residents_;  // by where they begin, the last first
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENTS_H_
