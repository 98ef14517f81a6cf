// SPDX-License-Identifier: Apache-2.0
/// Scaled dot-product attention: the problem, its masks, and what can be asked for.
///
/// Letters, here and in every header: B batch, H query heads, G key/value heads, T queries, S keys, d head width, dv
/// value width, D model width. A row is a query (who looks), a column is a key (who is looked at).
#ifndef HEADLENS_ATTENTION_H_
#define HEADLENS_ATTENTION_H_

#include <optional>

#include "headlens/tensor.h"

namespace headlens {

/// Where the causal diagonal ends when T ≠ S.
///   T = 2, S = 4:   top-left   1 0 0 0   bottom-right   1 1 1 0
///                              1 1 0 0                  1 1 1 1
enum class CausalAlignment { kTopLeft, kBottomRight };

/// What a query gets that may look at no key at all.
enum class FullyMasked { kZero, kNan, kUniform };

/// Which key/value head query head h reads: floor(h·G/H), or h mod G.
enum class GqaOrder { kBlock, kInterleaved };

enum class SoftcapOrder { kBeforeBias, kAfterBias };

/// Which keys each query may look at. All parts are optional and compose: a cell is masked when any part masks it.
/// A masked cell has weight exactly 0, and a NaN in a masked key or value reaches nothing.
struct Mask {
  /// [B, H, T, S]; broadcast dimensions have stride 0. Nonzero means `boolean_keeps ? look : do not look`.
  View<const std::uint8_t, 4> boolean;
  bool boolean_keeps = true;
  /// [B, H, T, S] added to the scores; −∞ masks. NaN and +∞ are not allowed.
  View<const float, 4> additive;
  /// [B, S]; nonzero means that the key is padding.
  View<const std::uint8_t, 2> key_padding;
  /// [B, T]; query t of batch b looks at keys [0, valid_lens(b, t)).
  View<const std::int32_t, 2> valid_lens;
  bool causal = false;
  CausalAlignment causal_alignment = CausalAlignment::kTopLeft;
  /// With `causal`: query i counts as query i + query_offset of the whole. For strips of a larger map.
  Index query_offset = 0;
  /// The last `appended_keys` columns are never masked, and the parts above have that many columns fewer
  /// (`add_bias_kv`, `add_zero_attn`).
  Index appended_keys = 0;
};

/// One attention problem: output = softmax(mask(softcap(scale · q kᵀ) + additive)) v, head by head.
/// Views are borrowed for the call.
struct AttentionProblem {
  View<const float, 4> q;  ///< [B, H, T, d]
  View<const float, 4> k;  ///< [B, G, S, d], H a multiple of G
  View<const float, 4> v;  ///< [B, G, S, dv]; may be absent when only weights or scores are asked for
  float scale = 1.0f;      ///< usually DefaultScale(d)
  float softcap = 0.0f;    ///< scores become softcap · tanh(scores / softcap); 0: not capped
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
  Mask mask;
  GqaOrder gqa_order = GqaOrder::kBlock;
  FullyMasked fully_masked = FullyMasked::kZero;
  double dropout_p = 0.0;  ///< each weight is dropped with this probability, the others are divided by 1 − p
  std::uint64_t seed = 0;  ///< of the dropout: counter-based, so the same seed drops the same cells on every backend
};

/// Where results go: each view that is there is filled, the others cost nothing. Rows of `S` must be dense (last stride
/// 1). On an exception the contents are unspecified.
struct AttentionResults {
  View<float, 4> output;           ///< [B, H, T, dv]
  View<float, 4> weights;          ///< [B, H, T, S], before dropout
  View<float, 3> mean_weights;     ///< [B, T, S], averaged over the heads, before dropout
  View<float, 4> dropped_weights;  ///< [B, H, T, S], what multiplies v
  View<float, 4> scores;           ///< [B, H, T, S] q kᵀ
  View<float, 4> scaled_scores;    ///< … times scale
  View<float, 4> capped_scores;    ///< … soft-capped
  View<float, 4> biased_scores;    ///< … plus the additive mask
  View<float, 4> masked_scores;    ///< … −∞ where masked
  View<float, 3> lse;              ///< [B, H, T] ln Σ exp(masked_scores); −∞ for a fully masked row
};

/// 1/√d, for d ≥ 1 (Vaswani et al. 2017, §3.2.1).
float DefaultScale(Index head_dim);

/// Checks every size of the problem and of the results against the others; throws an Error that names both shapes.
/// Backends call it.
void Validate(const AttentionProblem& problem, const AttentionResults& results);

/// The key/value head that query head `h` reads.
Index KvHead(const AttentionProblem& problem, Index h);

/// Number of leading keys that query `t` of batch `b` may look at by causality and valid length; the other masks thin
/// them out.
Index VisibleKeys(const AttentionProblem& problem, Index b, Index t);

/// Whether a cell is masked. The definition that every backend agrees with.
bool IsMasked(const AttentionProblem& problem, Index b, Index h, Index t, Index s);

}  // namespace headlens

#endif  // HEADLENS_ATTENTION_H_
