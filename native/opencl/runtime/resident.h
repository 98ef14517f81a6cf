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
  /// A copy, in numbers of 16 bits at the same places; null where there is none, as after each change. Whoever changes
  /// the elements and the copy alike keeps the copy anew.
  Memory rounded;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_RUNTIME_RESIDENT_H_
