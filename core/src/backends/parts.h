// SPDX-License-Identifier: Apache-2.0
/// The parts of a backend besides its interface, headlens/backend.h: the rules of attention, the checks of sizes, and
/// the decisions that all backends share. A backend, wherever it is, includes this header of the core and no other that
/// is not public.
#ifndef HEADLENS_SRC_BACKENDS_PARTS_H_
#define HEADLENS_SRC_BACKENDS_PARTS_H_

#include <algorithm>

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/philox.h"
#include "attention/positions/bias_table.h"
#include "backends/checks.h"
#include "base/views.h"
#include "base/words.h"
#include "headlens/backend.h"

namespace headlens {

/// Returns true when the rows are a softmax's of which only the output and ln Σ exp are wanted, and nothing hides
/// single weights: then no tensor of cells [H, T, S] need be in memory, provided that nothing spreads from behind
/// masks.
inline bool NeedsNoCells(const AttentionProblem& p, const AttentionResults& r) {
  const bool cells = r.weights || r.mean_weights || r.dropout_mask || r.dropped_weights || r.scores ||
                     r.scaled_scores || r.capped_scores || r.biased_scores || r.masked_scores;
  return r.output && !cells && p.normalizer.kind == NormalizerKind::kSoftmax && p.dropout_p == 0.0 &&
         p.mask.appended_keys == 0;
}

/// Sets mean_weights to 0 where they are wanted.
inline void ZeroMeanWeights(const AttentionResults& results) {
  const View<float, 3>& mean = results.mean_weights;
  if (!mean || HasNoElements(mean)) return;
  for (Index b = 0; b < mean.shape[0]; ++b)
    for (Index t = 0; t < mean.shape[1]; ++t) std::fill_n(mean.at(b, t), mean.shape[2], 0.0f);
}

/// Attention of the reference backend. The problem has been checked by Validate.
void RunReferenceAttention(const AttentionProblem& problem, const AttentionResults& results);

}  // namespace headlens

#endif  // HEADLENS_SRC_BACKENDS_PARTS_H_
