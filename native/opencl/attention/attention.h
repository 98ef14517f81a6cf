// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_

#include <optional>

#include "headlens/attention.h"
#include "opencl/attention/online.h"

namespace headlens::opencl {

/// Computes attention on a device. Validate has checked the problem. When it needs no cells in memory, `kernel`
/// computes it, which must suit the device and the problem; without `kernel` the best one is chosen.
void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<AttentionKernel>& kernel = std::nullopt);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ATTENTION_H_
