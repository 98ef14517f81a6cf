// SPDX-License-Identifier: Apache-2.0
/// Comparisons of two runs a and b: of two texts, of one text before and after a change (such as a head that is
/// silenced), or of two models that read the same tokens. Differences are those of b less those of a, over tokens of
/// the one that correspond to tokens of the other.
///
/// Pairs may come from elsewhere and in any order. All functions throw kValue for a token that a run does not have.
#ifndef HEADLENS_COMPARISON_H_
#define HEADLENS_COMPARISON_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "headlens/model.h"

namespace headlens {

/// Positions of one token in two texts.
struct TokenPair {
  Index a = 0, b = 0;

  bool operator==(const TokenPair&) const = default;
};

/// The positions of a longest common subsequence of two texts, in order. Takes memory in proportion to the sum of the
/// lengths, and time in proportion to the product of what is left of them without equal beginnings and ends (Hirschberg
/// 1975, "A linear space algorithm for computing maximal common subsequences").
///
/// Of several longest ones, the result is always the same: equal beginnings are paired first, then equal ends. The rest
/// of a is cut in halves (the first is the shorter one), the rest of b after the fewest tokens that allow the greatest
/// length, and both pairs of halves are aligned by the same rules. A single token is paired with the first like it.
std::vector<TokenPair> AlignTokens(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

/// The same for the texts of two runs. Two images are paired position by position. Throws kShape when the models have
/// vocabularies of different sizes or the images different lengths, and kUnsupported for a text and an image.
std::vector<TokenPair> AlignTokens(const ModelAttention& a, const ModelAttention& b);

/// A head's map in a run. Borrows the run.
struct RunMap {
  const ModelAttention& attention;
  Index layer = 0, head = 0;
  AttentionPart part = AttentionPart::kDecoder;
};

/// The weights of b less those of a where both the query and the key are paired: rows [row_begin, row_end) of [pairs,
/// pairs], where query and key of cell (i, j) are pairs i and j. An end may be MapWindow::kAll. Beside the result, only
/// some rows of the maps are in memory. Throws kValue for a layer, a head or rows that do not exist, and kUnsupported
/// for a part that a model does not have.
///
/// Maps of an encoder are over the pairs of its source, AlignTokens(a.Encoder(), b.Encoder()).
Tensor MapDifference(const RunMap& a, const RunMap& b, std::span<const TokenPair> pairs, Index row_begin = 0,
                     Index row_end = MapWindow::kAll);

/// The same for queries and keys that are other tokens, as in a cross-attention: rows of [queries, keys].
Tensor MapDifference(const RunMap& a, const RunMap& b, std::span<const TokenPair> queries,
                     std::span<const TokenPair> keys, Index row_begin = 0, Index row_end = MapWindow::kAll);

/// KL(p_a ‖ p_b) = Σ_v p_a(v) ln (p_a(v) / p_b(v)) of each pair, in nats, where p is the softmax of the logits at a
/// token: of the next token in causal models (Kullback & Leibler 1951, "On Information and Sufficiency"). Computed in
/// fp64, with some rows of logits in memory at a time. +∞ where p_b excludes what p_a does not; NaN where logits are
/// NaN or +∞. Classifiers of images have one prediction, so that the result is one number and `pairs` is not used.
///
/// Throws kUnsupported when a model has no logits or only one of them predicts at every token, and kShape when their
/// logits differ in number.
std::vector<double> PredictionDivergences(const ModelAttention& a, const ModelAttention& b,
                                          std::span<const TokenPair> pairs);

/// ln p_b − ln p_a of every token of the vocabulary (or every class) at one pair; ExtremeLogits (explanation.h) finds
/// those that gained or lost most. Equal probabilities have exactly 0, also where both are 0. Images have the pair
/// (0, 0) alone. Throws as PredictionDivergences.
std::vector<float> LogProbabilityChanges(const ModelAttention& a, const ModelAttention& b, const TokenPair& pair);

}  // namespace headlens

#endif  // HEADLENS_COMPARISON_H_
