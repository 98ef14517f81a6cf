// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ATTENTION_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ATTENTION_H_

#include "backends/simd/workers.h"
#include "headlens/attention.h"

namespace headlens::simd {

/// Attention of the SIMD backend. The problem has been checked by Validate.
void RunAttention(const AttentionProblem& problem, const AttentionResults& results, Workers& workers);

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ATTENTION_H_
