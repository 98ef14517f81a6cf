// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_

#include <optional>

#include "headlens/attention.h"
#include "opencl/attention/online.h"

namespace headlens::opencl {

/// Attention on a device. The problem has been checked by Validate. Where it goes without cells in memory it goes by
/// `kernel`, which must suit the device and the problem; without one, the kernels that suit them best are chosen.
void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<AttentionKernel>& kernel = std::nullopt);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
