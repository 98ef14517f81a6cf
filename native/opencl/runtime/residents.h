// SPDX-License-Identifier: Apache-2.0
/// Tensors that live on the device. Each has an address on the host too, where its elements are when they were fetched:
/// views of a tensor are views of either, and a pointer into it says which elements are meant.
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

  /// The device is lost, and with it the elements that only it had: from now on their use throws kUnsupported.
  void Lose();

  /// What the floats from `p` on stand for; nothing for memory of the host. `writes`: the device is about to change
  /// them.
  std::optional<Elements> Find(const float* p, bool writes = false);

  /// The tensor that `p` points into once more, in numbers of 16 bits at the same places; null where there is none. It
  /// goes when Find is told of a change, or Send: who changes a tensor and its rounded numbers alike puts these back.
  Memory Rounded(const float* p);
  void KeepRounded(const float* p, Memory rounded);
  /// How many elements the tensor has that `p` points into; 0 for memory of the host.
  Index CountAt(const float* p);

  /// Bytes of the tensor that `p` points into; 0 for memory of the host. Whether the device has changed it since the
  /// host had it.
  Index BytesAt(const float* p);
  bool IsStale(const float* p);

  /// The elements of the tensor that `p` points into were changed on the host, or are wanted there.
  void Send(const cl::CommandQueue& queue, const float* p);
  void Fetch(const cl::CommandQueue& queue, const float* p);

 private:
  struct Resident {
    float* host;
    Index count;
    Memory buffer;         // null: lost
    bool on_host = false;  // the host has the same elements
    Memory rounded{};      // null: none
  };
  using Map = std::map<const float*, Resident, std::greater<>>;
  Map::iterator Holding(const float* p);

  Map residents_;  // by where they begin, the last first
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENTS_H_
