// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_

#include <functional>
#include <optional>
#include <variant>

#include "headlens/attention.h"
#include "opencl/attention/online.h"
#include "opencl/matrix/matrix_units.h"

namespace headlens::opencl {

/// What goes without cells in memory: not on matrix units, by that tile, or by that tile on matrix units.
struct OrdinaryKernels {};
using AttentionKernel = std::variant<OrdinaryKernels, OnlineTile, FusedTile>;

/// Attention on a device. The problem has been checked by Validate. What goes without cells in memory goes by `kernel`,
/// which must suit the device and the problem, and without one as suits them best.
void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<AttentionKernel>& kernel = std::nullopt);

/// For kernels that compete: kernel(candidate) is one of them.
Trial AttentionTrialOf(Session& session, const AttentionShape& shape,
                       const std::function<AttentionKernel(std::size_t)>& kernel);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
