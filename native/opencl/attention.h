// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_H_

#include "headlens/attention.h"
#include "opencl/session.h"

namespace headlens::opencl {

/// Attention on a device. The problem has been checked by Validate.
void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_H_
