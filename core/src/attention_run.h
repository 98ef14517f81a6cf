// SPDX-License-Identifier: Apache-2.0
/// Attention, once per backend. The problem has been checked by Validate.
#ifndef HEADLENS_SRC_ATTENTION_RUN_H_
#define HEADLENS_SRC_ATTENTION_RUN_H_

#include "headlens/attention.h"

namespace headlens {

namespace simd {
class Workers;
}

/// Sets mean_weights to 0 where they are wanted.
void ZeroMeanWeights(const AttentionResults& results);

void RunReferenceAttention(const AttentionProblem& problem, const AttentionResults& results);
void RunSimdAttention(const AttentionProblem& problem, const AttentionResults& results, simd::Workers& workers);

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_RUN_H_
