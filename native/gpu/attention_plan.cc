// SPDX-License-Identifier: Apache-2.0
#include "gpu/attention_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

namespace headlens::gpu {
namespace {

constexpr Index kFloat = sizeof(float);

/// Returns true when a row without keys becomes 0, whatever its query is.
bool IsPlainWhereMasked(const AttentionProblem& p) {
  return p.fully_masked == FullyMasked::kZero && p.masked_nan == MaskedNan::kBlocked;
}

}  // namespace

AttentionPlan::AttentionPlan(const AttentionProblem& problem, const AttentionResults& results)
    : p_(problem),
      r_(results),
      masks_(problem),
      has_biases_(!BiasTable(problem).empty()),
      suits_online_(value_width() > 0 && NeedsNoCells(problem, results) && KnowsMaskedRows()) {}

/// Returns true when rows without keys become 0, or there are none.
bool AttentionPlan::KnowsMaskedRows() const { return IsPlainWhereMasked(p_) || EveryRowSeesKeys(); }

/// When this is true no row is fully masked, and the rule for such rows does not matter.
bool AttentionPlan::EveryRowSeesKeys() const {
  if (masks_.has_marks()) return false;
  for (Index b = 0; b < batch(); ++b)
    for (Index t = 0; t < queries(); ++t) {
      const KeyRange range = masks_.Range(b, t);
      if (range.begin >= range.end) return false;
    }
  return true;
}

bool AttentionPlan::NeedsOnlyRowRanges() const {
  return HidesOnlyRanges() && !ChangesScores() && keys() <= std::numeric_limits<std::int32_t>::max();
}

bool AttentionPlan::SuitsBlockSums() const {
  return p_.normalizer.kind == NormalizerKind::kSoftmax && p_.dropout_p == 0.0 && !p_.head_mask &&
         p_.mask.appended_keys == 0 && NeedsOnlyRowRanges() && KnowsMaskedRows();
}

/// With few rows a GPU waits for its memory: there matrix units gain nothing, and keys that work-groups share do. And
/// the kernels scale scores only after hidden ones became the lowest number, which must stay far below all others.
bool AttentionPlan::SuitsMatrixUnits() const {
  constexpr Index kFewRows = 4;
  constexpr float kLeastScale = 1e-20f;
  const float scale = (ChangesScores() ? 1.0f : std::abs(p_.scale)) / p_.normalizer.temperature;
  return queries() > kFewRows && keys() <= std::numeric_limits<std::int32_t>::max() && scale >= kLeastScale &&
         scale <= 1.0f / kLeastScale;
}

/// The number of tensors of cells that a block has on the device: the cells, what multiplies the values, and all other
/// stages that are wanted.
Index AttentionPlan::CellTensors() const {
  const View<float, 4>* const stages[] = {&r_.scaled_scores, &r_.capped_scores, &r_.biased_scores, &r_.masked_scores,
                                          &r_.dropout_mask};
  return 2 + std::count_if(std::begin(stages), std::end(stages), [](const auto* view) { return bool{*view}; });
}

Index AttentionPlan::CellRowBytes() const { return keys() * CellTensors() * kFloat; }

Index AttentionPlan::GroupsTogether(Index step_memory) const {
  if (r_.mean_weights) return groups();
  const Index key_bytes = keys() * (p_.k.shape[3] + value_width()) * kFloat;
  return std::max<Index>(step_memory / std::max(key_bytes, members() * CellRowBytes()), 1);
}

Pass AttentionPlan::PassOf(Index first, Index end) const {
  Pass pass{end - first, {first, groups(), members()}, {}};
  for (Index i = first; i < end; ++i)
    for (Index member = 0; member < members(); ++member) {
      const Index g = i % groups();
      const Index h = p_.gqa_order == GqaOrder::kBlock ? g * members() + member : member * groups() + g;
      pass.heads.push_back({i / groups(), h});
    }
  return pass;
}

Index AttentionPlan::RowsTogether(const Pass& pass, bool has_cells, Index step_memory) const {
  const Index row = (width() + value_width()) * kFloat + (has_cells ? CellRowBytes() : 0);
  return std::max<Index>(step_memory / (pass.head_count() * row), 1);
}

Index AttentionPlan::CellRowsTogether(const Pass& pass, Index step_memory) const {
  return std::max<Index>(step_memory / (pass.head_count() * CellRowBytes()), 1);
}

}  // namespace headlens::gpu
