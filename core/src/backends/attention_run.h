// SPDX-License-Identifier: Apache-2.0
/// The entry of each backend's attention. The problem has already been checked by Validate.
#ifndef HEADLENS_SRC_BACKENDS_ATTENTION_RUN_H_
#define HEADLENS_SRC_BACKENDS_ATTENTION_RUN_H_

#include <algorithm>

#include "base/views.h"
#include "headlens/attention.h"

namespace headlens {

namespace simd {
class Workers;
}

/// Sets mean_weights to 0 when they are wanted.
inline void ZeroMeanWeights(const AttentionResults& results) {
  const View<float, 3>& mean = results.mean_weights;
  if (!mean || HasNoElements(mean)) return;
  for (Index b = 0; b < mean.shape[0]; ++b)
    for (Index t = 0; t < mean.shape[1]; ++t) std::fill_n(mean.at(b, t), mean.shape[2], 0.0f);
}

void RunReferenceAttention(const AttentionProblem& problem, const AttentionResults& results);
void RunSimdAttention(const AttentionProblem& problem, const AttentionResults& results, simd::Workers& workers);

}  // namespace headlens

#endif  // HEADLENS_SRC_BACKENDS_ATTENTION_RUN_H_
