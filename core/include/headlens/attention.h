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

/// Where positions are counted from when T ≠ S, and so where the causal diagonal ends.
///   T = 2, S = 4:   top-left   1 0 0 0   bottom-right   1 1 1 0
///                              1 1 0 0                  1 1 1 1
enum class CausalAlignment { kTopLeft, kBottomRight };

/// What a query gets that may look at no key at all.
enum class FullyMasked { kZero, kNan, kUniform };

/// What a NaN or an infinity in a masked key or value does: nothing; or what adding −∞ to its score and multiplying its
/// value by 0 makes of it, as PyTorch's scaled_dot_product_attention has it: a row of NaN.
enum class MaskedNan { kBlocked, kSpreads };

/// Which key/value head query head h reads: floor(h·G/H), or h mod G.
enum class GqaOrder { kBlock, kInterleaved };

enum class SoftcapOrder { kBeforeBias, kAfterBias };

/// Which keys each query may look at. All parts are optional and compose: a cell is masked when any part masks it,
/// except that `prefix_lens` overrules `causal`, and `global_tokens` the window and the dilation. A masked cell has
/// weight exactly 0, and a NaN in a masked key or value reaches nothing. Positions are QueryPosition and KeyPosition.
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
  /// No query looks at a later position.
  bool causal = false;
  CausalAlignment causal_alignment = CausalAlignment::kTopLeft;
  /// [B]; the first keys, seen by every query in spite of `causal` (prefix language models).
  View<const std::int32_t, 1> prefix_lens;
  /// A query looks at most so many positions back and ahead; −1: as far as there is.
  Index window_left = -1, window_right = -1;
  /// A query looks at every dilation-th position, counted from its own.
  Index dilation = 1;
  /// [B, S]; tokens that every query sees, and whose own queries see every key (Beltagy et al. 2020).
  View<const std::uint8_t, 2> global_tokens;
  /// [B, T] and [B, S]; a query looks at keys of its own document. Both or none.
  View<const std::int32_t, 2> query_documents, key_documents;
  /// The last `appended_keys` columns are never masked, and the parts above have that many columns fewer
  /// (`add_bias_kv`, `add_zero_attn`).
  Index appended_keys = 0;
};

/// Biases on the scores that depend on the distance of query and key. They add up; a view that is there takes part.
struct PositionBias {
  View<const float, 1> alibi_slopes;  ///< [H]: −slope · |distance| (Press et al. 2022)
  View<const float, 2> relative;      ///< [H, 2R + 1]: entry R + query position − key position, clipped to ±R
  View<const float, 2> t5;  ///< [buckets, H]: entry T5Bucket(key position − query position) (Raffel et al. 2020)
  bool t5_bidirectional = true;
  Index t5_max_distance = 128;
};

/// How the masked scores of a row become its weights.
enum class NormalizerKind {
  kSoftmax,    ///< exp(x) / Σ exp(x)
  kSparsemax,  ///< the nearest point of the simplex (Martins & Astudillo 2016)
  kEntmax15,   ///< α-entmax, α = 1.5 (Peters et al. 2019)
  kSigmoid,    ///< 1 / (1 + exp(−x − bias)), each cell by itself (Ramapuram et al. 2024)
  kTopK,       ///< softmax over the k largest, and those that equal the k-th
  kHard,       ///< 1 for the largest, the first of equals
};

struct Normalizer {
  NormalizerKind kind = NormalizerKind::kSoftmax;
  float temperature = 1.0f;    ///< the masked scores are divided by it first
  View<const float, 1> sinks;  ///< [H], softmax and top-k: one logit more in each denominator, without a column
  Index top_k = 0;             ///< of kTopK, at least 1
  float sigmoid_bias = 0.0f;   ///< of kSigmoid
};

/// How attention is computed, whatever from: the choices that problems, layers and case files share.
/// Views are borrowed for the call.
struct AttentionSettings {
  float softcap = 0.0f;  ///< scores become softcap · tanh(scores / softcap); 0: not capped
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
  Mask mask;
  PositionBias position_bias;
  Normalizer normalizer;
  GqaOrder gqa_order = GqaOrder::kBlock;
  FullyMasked fully_masked = FullyMasked::kZero;
  MaskedNan masked_nan = MaskedNan::kBlocked;
  double dropout_p = 0.0;  ///< each weight is dropped with this probability, the others are divided by 1 − p
  std::uint64_t seed = 0;  ///< of the dropout: counter-based, so the same seed drops the same cells on every backend
  View<const float, 2> head_mask;  ///< [B, H]: factor on the head's weights after dropout; 0 takes the head out
};

/// Keys or values [B, G, S, width] where they lie, in F32 or BF16, each element aligned. Borrowed; strides count
/// elements.
struct KeyValueView {
  KeyValueView() = default;
  KeyValueView(DType dtype, const std::byte* data, const std::array<Index, 4>& shape,
               const std::array<Index, 4>& strides)
      : dtype(dtype), data(data), shape(shape), strides(strides) {}
  // Implicit: a view of floats is such a view.
  KeyValueView(View<const float, 4> view)
      : KeyValueView(DType::kF32, reinterpret_cast<const std::byte*>(view.data), view.shape, view.strides) {}
  KeyValueView(View<float, 4> view) : KeyValueView(View<const float, 4>(view)) {}

  explicit operator bool() const { return data != nullptr; }

  const std::byte* at(Index b, Index g, Index s = 0) const {
    return data + (b * strides[0] + g * strides[1] + s * strides[2]) * static_cast<Index>(ByteSize(dtype));
  }
  float operator()(Index b, Index g, Index s, Index i) const {
    return LoadFloat(dtype, at(b, g, s) + i * strides[3] * static_cast<Index>(ByteSize(dtype)));
  }
  /// The same, of F32. Throws kDtype for others.
  View<const float, 4> floats() const;

  DType dtype = DType::kF32;
  const std::byte* data = nullptr;
  std::array<Index, 4> shape{}, strides{};
};

/// A copy in F32.
Tensor ToFloat(const KeyValueView& view);

/// One attention problem: output = normalize(mask(softcap(scale · q kᵀ) + biases)) v, head by head.
struct AttentionProblem : AttentionSettings {
  View<const float, 4> q;  ///< [B, H, T, d]
  KeyValueView k;          ///< [B, G, S, d], H a multiple of G
  KeyValueView v;          ///< [B, G, S, dv]; may be absent when only weights or scores are asked for
  float scale = 1.0f;      ///< usually DefaultScale(d)
  /// Position of the first query and of the first key: for strips of a larger map, and for caches.
  Index query_offset = 0, key_offset = 0;
};

/// Where results go: each view that is there is filled, the others cost nothing. Rows of `S` must be dense (last stride
/// 1). On an exception the contents are unspecified.
struct AttentionResults {
  View<float, 4> output;           ///< [B, H, T, dv]
  View<float, 4> weights;          ///< [B, H, T, S], before dropout
  View<float, 3> mean_weights;     ///< [B, T, S], averaged over the heads, before dropout
  View<float, 4> dropout_mask;     ///< [B, H, T, S], 1 where dropout keeps, 0 where it drops
  View<float, 4> dropped_weights;  ///< [B, H, T, S], after dropout and head mask: what multiplies v
  View<float, 4> scores;           ///< [B, H, T, S] q kᵀ
  View<float, 4> scaled_scores;    ///< … times scale
  View<float, 4> capped_scores;    ///< … soft-capped
  View<float, 4> biased_scores;    ///< … plus position biases and the additive mask
  View<float, 4> masked_scores;    ///< … −∞ where masked
  /// [B, H, T] ln Σ exp(masked_scores / temperature), sinks included; −∞ for a fully masked row
  View<float, 3> lse;
};

/// 1/√d, for d ≥ 1 (Vaswani et al. 2017, §3.2.1).
float DefaultScale(Index head_dim);

/// Checks every size of the problem and of the results against the others; throws an Error that names both shapes.
/// Backends call it.
void Validate(const AttentionProblem& problem, const AttentionResults& results);

/// The key/value head that query head `h` reads.
Index KvHead(const AttentionProblem& problem, Index h);

/// Where query `t` and key `s` stand in the sequence.
Index QueryPosition(const AttentionProblem& problem, Index t);
Index KeyPosition(const AttentionProblem& problem, Index s);

/// Whether a cell is masked. The definition that every backend agrees with, for a few cells: each call looks at all of
/// the problem's masks.
bool IsMasked(const AttentionProblem& problem, Index b, Index h, Index t, Index s);

}  // namespace headlens

#endif  // HEADLENS_ATTENTION_H_
