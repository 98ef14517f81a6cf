// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_H_

#include <optional>

#include "headlens/attention.h"
#include "opencl/online.h"

namespace headlens::opencl {

/// Attention on a device. The problem has been checked by Validate. What goes without cells in memory is cut by `tile`,
/// which must suit the device and the problem, and without one as suits them best.
void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<OnlineTile>& tile = std::nullopt);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_H_
