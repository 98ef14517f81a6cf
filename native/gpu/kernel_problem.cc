// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_problem.h"

namespace headlens::gpu {
namespace {

// Compilers for devices put no gaps between the members, either.
static_assert(sizeof(Place) == 5 * 8 && sizeof(Heads) == 3 * 8 && sizeof(CellStrides) == 3 * 8);
static_assert(sizeof(Problem) == 46 * 8 + 16 * 4);

int KernelNumber(FullyMasked fully_masked) {
  switch (fully_masked) {
    case FullyMasked::kZero:
      return kFullyMaskedZero;
    case FullyMasked::kNan:
      return kFullyMaskedNan;
    case FullyMasked::kUniform:
      return kFullyMaskedUniform;
  }
  return kFullyMaskedZero;
}

void DescribeMask(const AttentionProblem& p, Problem& d) {
  const Mask& mask = p.mask;
  d.maskable = MaskableKeys(p);
  d.own_shift = QueryPosition(p, 0) - p.key_offset;
  d.window_left = mask.window_left;
  d.window_right = mask.window_right;
  d.dilation = mask.dilation;
  d.neighborhood_rows = mask.neighborhood_rows;
  d.neighborhood_columns = mask.neighborhood_columns;
  d.grid_columns = mask.grid_columns;
  d.first_patch = mask.grid_tokens - p.key_offset;
  d.boolean_keeps = mask.boolean_keeps;
  d.causal = mask.causal;
  d.spreads = p.masked_nan == MaskedNan::kSpreads;
  d.fully_masked = KernelNumber(p.fully_masked);
}

void DescribeDropout(const AttentionProblem& p, Problem& d) {
  d.seed = p.seed;
  d.drops = p.dropout_p > 0.0;
  if (d.drops) d.highest_dropped = HighestDropped(p.dropout_p);
  d.keep_factor = p.dropout_p < 1.0 ? static_cast<float>(1.0 / (1.0 - p.dropout_p)) : 0.0f;
}

}  // namespace

int KernelNumber(NormalizerKind kind) {
  switch (kind) {
    case NormalizerKind::kSoftmax:
      return kNormalizeSoftmax;
    case NormalizerKind::kSparsemax:
      return kNormalizeSparsemax;
    case NormalizerKind::kEntmax15:
      return kNormalizeEntmax15;
    case NormalizerKind::kSigmoid:
      return kNormalizeSigmoid;
    case NormalizerKind::kTopK:
      return kNormalizeTopK;
    case NormalizerKind::kHard:
      return kNormalizeHard;
    case NormalizerKind::kRelu:
      return kNormalizeRelu;
  }
  return kNormalizeSoftmax;
}

Problem Describe(const AttentionPlan& plan, const Pass& pass, const QueryRange& rows, bool marks_hidden) {
  const AttentionProblem& p = plan.problem();
  Problem d{};
  d.keys = plan.keys();
  d.queries = plan.queries();
  d.first = rows.first;
  d.rows = rows.count;
  d.heads = pass.launched;
  d.interleaved = p.gqa_order == GqaOrder::kInterleaved;
  d.width = plan.width();
  d.value_width = plan.value_width();
  d.scale = p.scale;
  d.softcap = p.softcap;
  d.cap_after_bias = p.softcap_order == SoftcapOrder::kAfterBias;
  d.top_k = p.normalizer.top_k;
  d.temperature = p.normalizer.temperature;
  d.sigmoid_bias = p.normalizer.sigmoid_bias;
  d.marks_hidden = marks_hidden;
  d.hides_any = plan.HidesAny();
  d.changes_scores = plan.ChangesScores();
  DescribeMask(p, d);
  DescribeDropout(p, d);
  return d;
}

}  // namespace headlens::gpu
