// SPDX-License-Identifier: Apache-2.0
/// Scaled dot-product attention: the problem, its masks, and the results that callers can ask for.
///
/// These letters name sizes here and in every header: B batch, H query heads, G key/value heads, T queries, S keys, d
/// head width, dv value width, D model width. In a map, a row is a query and a column is a key.
#ifndef HEADLENS_ATTENTION_H_
#define HEADLENS_ATTENTION_H_

#include <optional>

#include "headlens/device.h"
#include "headlens/tensor.h"

namespace headlens {

/// The alignment of queries and keys when T ≠ S: the first query at the first key (top-left), or the last query at the
/// last key (bottom-right). It decides where the causal diagonal lies.
///   T = 2, S = 4:   top-left   1 0 0 0   bottom-right   1 1 1 0
///                              1 1 0 0                  1 1 1 1
enum class CausalAlignment { kTopLeft, kBottomRight };

/// The result of a query that may look at no key at all.
enum class FullyMasked { kZero, kNan, kUniform };

/// The effect of a NaN or an infinity in a masked key or value. kBlocked: it has none. kSpreads: the row becomes NaN,
/// as in PyTorch's scaled_dot_product_attention, which adds −∞ to the score and multiplies the value by 0.
enum class MaskedNan { kBlocked, kSpreads };

/// The key/value head that query head h reads: floor(h·G/H), or h mod G.
enum class GqaOrder { kBlock, kInterleaved };

enum class SoftcapOrder { kBeforeBias, kAfterBias };

/// The keys that each query may look at. Every part is optional, and a key is masked when any part masks it, with two
/// exceptions: `prefix_lens` overrules `causal`, and `global_tokens` overrule the window and the dilation. A masked key
/// gets a weight of exactly 0, unless a fully masked row is kUniform or kNan; `MaskedNan` says what a NaN in it does.
/// Positions are those of QueryPosition and KeyPosition.
struct Mask {
  /// [B, H, T, S]; broadcast dimensions have stride 0. A nonzero cell keeps the key when `boolean_keeps` is true, and
  /// masks it otherwise.
  View<const std::uint8_t, 4> boolean;
  bool boolean_keeps = true;
  /// [B, H, T, S]; added to the scores, so −∞ masks. NaN and +∞ are not allowed.
  View<const float, 4> additive;
  /// [B, S]; nonzero means that the key is padding.
  View<const std::uint8_t, 2> key_padding;
  /// [B, T]; query t of batch b looks at keys [0, valid_lens(b, t)).
  View<const std::int32_t, 2> valid_lens;
  /// No query looks at a position after its own.
  bool causal = false;
  CausalAlignment causal_alignment = CausalAlignment::kTopLeft;
  /// [B]; this many first keys are visible to every query in spite of `causal` (prefix language models).
  View<const std::int32_t, 1> prefix_lens;
  /// A query looks at most this many positions back and ahead; −1 sets no limit.
  Index window_left = -1, window_right = -1;
  /// A query looks only at positions whose distance from its own is a multiple of `dilation`.
  Index dilation = 1;
  /// The first `grid_tokens` positions come before a grid of patches, which follow row by row. A patch looks at the
  /// patches that are at most this many rows and columns away (−1 sets no limit), and at those tokens, which see every
  /// key. The keys must fill the grid; with `causal` they may be its first ones.
  Index neighborhood_rows = -1, neighborhood_columns = -1;
  Index grid_rows = 0, grid_columns = 0, grid_tokens = 0;
  /// [B, S]; nonzero marks a token that every query sees, and whose own query sees every key (Beltagy et al. 2020).
  View<const std::uint8_t, 2> global_tokens;
  /// [B, T] and [B, S]; a query looks only at keys with the number of its own document. Both are given, or neither.
  View<const std::int32_t, 2> query_documents, key_documents;
  /// The last `appended_keys` columns are never masked, and the masks above leave them out (PyTorch's `add_bias_kv` and
  /// `add_zero_attn`).
  Index appended_keys = 0;
};

/// Biases that are added to the scores and depend on the distance between query and key. A bias is used when its view
/// is set, and several add up.
struct PositionBias {
  View<const float, 1> alibi_slopes;  ///< [H]: −slope · |distance| (Press et al. 2022)
  View<const float, 2> relative;  ///< [H, 2R + 1]: entry R + query position − key position, the distance clipped to ±R
  View<const float, 2> t5;        ///< [buckets, H]: entry T5Bucket(key position − query position) (Raffel et al. 2020)
  bool t5_bidirectional = true;
  Index t5_max_distance = 128;
};

/// The function that turns the masked scores of a row into its weights.
enum class NormalizerKind {
  kSoftmax,    ///< exp(x) / Σ exp(x)
  kSparsemax,  ///< the nearest point of the probability simplex (Martins & Astudillo 2016)
  kEntmax15,   ///< α-entmax, α = 1.5 (Peters et al. 2019)
  kSigmoid,    ///< 1 / (1 + exp(−x − bias)) for each cell on its own (Ramapuram et al. 2024)
  kTopK,       ///< softmax over the k largest scores and those equal to the k-th
  kHard,       ///< weight 1 for the largest score, the first of equals
  kRelu,       ///< max(x, 0) / the number of keys that the row may see (Wortsman et al. 2023)
};

struct Normalizer {
  NormalizerKind kind = NormalizerKind::kSoftmax;
  float temperature = 1.0f;    ///< the masked scores are divided by it first
  View<const float, 1> sinks;  ///< [H]; softmax and top-k: an extra logit in the denominator that has no column
  Index top_k = 0;             ///< for kTopK; at least 1
  float sigmoid_bias = 0.0f;   ///< for kSigmoid
};

/// The choices that attention problems, layers and case files share. Views are borrowed for the call.
struct AttentionSettings {
  float softcap = 0.0f;  ///< scores become softcap · tanh(scores / softcap); 0: no cap
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
  Mask mask;
  PositionBias position_bias;
  Normalizer normalizer;
  GqaOrder gqa_order = GqaOrder::kBlock;
  FullyMasked fully_masked = FullyMasked::kZero;
  MaskedNan masked_nan = MaskedNan::kBlocked;
  double dropout_p = 0.0;          ///< each weight is dropped with this probability; the others are divided by 1 − p
  std::uint64_t seed = 0;          ///< of the dropout; the same seed drops the same cells on every backend
  View<const float, 2> head_mask;  ///< [B, H]: each head's weights are multiplied by it after dropout; 0 removes a head
};

/// A borrowed view of keys or values [B, G, S, width] in F32 or BF16. Each element is aligned, and strides count
/// elements.
struct KeyValueView {
  KeyValueView() = default;
  KeyValueView(DType dtype, const std::byte* data, const std::array<Index, 4>& shape,
               const std::array<Index, 4>& strides)
      : dtype(dtype), data(data), shape(shape), strides(strides) {}
  // Implicit: a view of floats, of the host or of a device, is such a view.
  template <class AnyView>
    requires(std::convertible_to<const AnyView&, DeviceView<const float, 4>>)
  KeyValueView(const AnyView& view) : KeyValueView(Floats(), view) {}

  explicit operator bool() const { return static_cast<bool>(data); }

  /// Of the host's elements only; throws kUnsupported for others.
  const std::byte* at(Index b, Index g, Index s = 0) const { return data.host() + Offset(b, g, s); }
  float operator()(Index b, Index g, Index s, Index i) const {
    return LoadFloat(dtype, at(b, g, s) + i * strides[3] * static_cast<Index>(ByteSize(dtype)));
  }
  /// Writes the elements of one row as floats into `row`, of as many elements as a row has. Of the host's only, as
  /// at().
  void CopyRow(Index b, Index g, Index s, float* row) const;
  /// The same view as floats. Throws kDtype unless the elements are F32.
  DeviceView<const float, 4> floats() const;
  /// Rows [first, first + count) of head `g` in batch `b` alone.
  KeyValueView Part(Index b, Index g, Index first, Index count) const;

  DType dtype = DType::kF32;
  DevicePointer<const std::byte> data;
  std::array<Index, 4> shape{}, strides{};

 private:
  struct Floats {};
  KeyValueView(Floats, const DeviceView<const float, 4>& view);
  Index Offset(Index b, Index g, Index s) const {
    return (b * strides[0] + g * strides[1] + s * strides[2]) * static_cast<Index>(ByteSize(dtype));
  }
};

/// Copies to F32.
Tensor ToFloat(const KeyValueView& view);

/// One attention problem: output = normalize(mask(softcap(scale · q kᵀ) + biases)) v, for each head.
struct AttentionProblem : AttentionSettings {
  DeviceView<const float, 4> q;  ///< [B, H, T, d]
  KeyValueView k;                ///< [B, G, S, d], H a multiple of G
  KeyValueView v;                ///< [B, G, S, dv]; may be absent when only weights or scores are asked for
  float scale = 1.0f;            ///< usually DefaultScale(d)
  /// The positions of the first query and of the first key. They are not 0 for a part of a larger map, and in a cache.
  Index query_offset = 0, key_offset = 0;
};

/// The results that a call fills in. Each view that is set is filled, and the others cost nothing. Rows of all views
/// but `lse` must be dense (last stride 1). After an exception the contents are unspecified.
struct AttentionResults {
  DeviceView<float, 4> output;     ///< [B, H, T, dv]
  DeviceView<float, 4> weights;    ///< [B, H, T, S], before dropout
  View<float, 3> mean_weights;     ///< [B, T, S], averaged over the heads, before dropout
  View<float, 4> dropout_mask;     ///< [B, H, T, S], 1 where dropout keeps, 0 where it drops
  View<float, 4> dropped_weights;  ///< [B, H, T, S], after dropout and head mask; these multiply v
  View<float, 4> scores;           ///< [B, H, T, S] q kᵀ
  View<float, 4> scaled_scores;    ///< [B, H, T, S], times scale
  View<float, 4> capped_scores;    ///< [B, H, T, S], after the soft cap
  View<float, 4> biased_scores;    ///< [B, H, T, S], plus position biases and the additive mask
  View<float, 4> masked_scores;    ///< [B, H, T, S], −∞ where masked
  /// [B, H, T]: ln Σ exp(masked_scores / temperature), with sinks; −∞ for a fully masked row.
  View<float, 3> lse;
};

/// 1/√d, for d ≥ 1 (Vaswani et al. 2017, §3.2.1).
float DefaultScale(Index head_dim);

/// Checks that every size of the problem and of the results fits the others. Throws an Error that names both shapes.
/// Every backend calls this first.
void Validate(const AttentionProblem& problem, const AttentionResults& results);

/// The key/value head that query head `h` reads.
Index KvHead(const AttentionProblem& problem, Index h);

/// The positions of query `t` and key `s` in the sequence.
Index QueryPosition(const AttentionProblem& problem, Index t);
Index KeyPosition(const AttentionProblem& problem, Index s);

/// Returns true when the cell is masked. Every backend agrees with this definition. It is for single cells, since each
/// call reads all of the problem's masks.
bool IsMasked(const AttentionProblem& problem, Index b, Index h, Index t, Index s);

}  // namespace headlens

#endif  // HEADLENS_ATTENTION_H_
