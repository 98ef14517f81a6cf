// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_POOLED_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_POOLED_H_

#include <optional>

#include "gpu/online_tile.h"
#include "headlens/attention.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// The mean weights of a problem of one head over equal blocks, without cells in memory (kernels/pooled.cl). Returns
/// false when the weights have to be computed to be pooled: `pooled` then has no meaning. Validate has checked the
/// problem. `tile`, which must suit the device, takes the place of the one that is chosen for it.
bool PoolWeights(Session& session, const AttentionProblem& problem, const DeviceView<float, 2>& pooled,
                 const std::optional<gpu::OnlineTile>& tile = std::nullopt);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_POOLED_H_
