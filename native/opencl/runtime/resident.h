// SPDX-License-Identifier: Apache-2.0
/// A tensor that lives on the device.
#ifndef HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENT_H_
#define HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENT_H_

#include <cstdint>

#include "headlens/device.h"
#include "opencl/runtime/memory.h"

namespace headlens::opencl {

/// The elements of a buffer from element `first` on.
struct Elements {
  Memory buffer;
  Index first = 0;
};

/// `count` floats in a buffer, which are lost with the session that made it.
struct Resident final : Storage {
  Resident(std::uint64_t session_id, Index count, Memory buffer)
      : session_id(session_id), count(count), buffer(std::move(buffer)) {}

  const std::uint64_t session_id;
  const Index count;
  const Memory buffer;
  /// A copy of the elements in 16 bits, in the same order. It is null when there is none, as after a change of the
  /// elements. A function that changes both alike puts the copy back.
  Memory rounded;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENT_H_
