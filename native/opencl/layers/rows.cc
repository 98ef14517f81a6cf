// SPDX-License-Identifier: Apache-2.0
#include "opencl/layers/rows.h"

#include <span>
#include <vector>

#include "gpu/packing.h"

namespace headlens::opencl {

DeviceRows Read(Session& session, const DeviceView<const float, 2>& x) {
  if (const auto found = session.Find(x.data)) return {found->buffer, found->first, x.strides[0]};
  return {session.Upload(std::span<const float>(gpu::Dense(x.host()))), 0, x.shape[1]};
}

}  // namespace headlens::opencl
