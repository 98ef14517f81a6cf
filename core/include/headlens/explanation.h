// SPDX-License-Identifier: Apache-2.0
/// Explanations of a run: why a head looks where it looks, what it copies, and what every part of the model adds to the
/// logits. All of them are exact sums.
///
/// Before each layer, the residual stream of a token is a sum of parts: its embeddings, and what every earlier head and
/// feed-forward network wrote. A norm divides by a number that depends on the whole stream. With that number frozen at
/// its actual value, for each token and each norm, everything between the stream and a score or a logit is linear, so
/// that these are sums over parts, too (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits";
/// Kobayashi et al. 2021, arXiv 2109.07152, for the norms). In models whose norms follow the residual sums (BERT), a
/// part passes every norm between itself and the place that is looked at, all of them frozen.
///
/// The decoder of an encoder–decoder also has parts that the heads wrote which read the source. Functions with a `part`
/// are about the heads of one of its attentions, and tokens are those of the stream that its queries or its keys are
/// made of: in its cross-attention, queries have parts of the decoder's stream behind the layer's other heads, and keys
/// and values have parts of the encoder's last stream.
///
/// All functions need a run with AttendOptions::keep_parts, and throw kOption without. They throw kValue for a layer, a
/// head or a token that does not exist, and kUnsupported for a part that the model does not have.
#ifndef HEADLENS_EXPLANATION_H_
#define HEADLENS_EXPLANATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/model.h"

namespace headlens {

enum class PartKind {
  kToken,        ///< the token's embedding, or the projection of a patch without its bias
  kPosition,     ///< the embedding of its position
  kSegment,      ///< the embedding of its segment
  kHead,         ///< what an earlier head wrote
  kCross,        ///< what an earlier head of the decoder's cross-attention wrote
  kFeedForward,  ///< what an earlier feed-forward network wrote, without its bias
  kBias,         ///< what the biases of all earlier layers wrote
  kNorm,         ///< the shifts β of the norms
  kProjection,   ///< the bias of the projection that is looked at: of queries, keys, values or logits
};

struct StreamPart {
  PartKind kind = PartKind::kToken;
  Index layer = -1;  ///< of a head or a feed-forward network
  Index head = -1;   ///< of a head, of either attention

  bool operator==(const StreamPart&) const = default;
};

/// "token", "head", "feed_forward", …
std::string_view ToString(PartKind kind);
/// "token", "head.0.3", "cross.0.3", "feed_forward.0", …
std::string ToString(const StreamPart& part);

/// A value on the way from the scaled scores of some cells to their weights, by the name of its stage.
struct ScoreStep {
  std::string_view stage;  ///< "capped_scores", "biased_scores", "masked_scores" or "weights"
  std::vector<float> values;
};

/// One cell of a head's map.
struct MapCell {
  Index layer = 0, head = 0, query = 0, key = 0;
  AttentionPart part = AttentionPart::kDecoder;
};

struct CellExplanation {
  double score = 0.0;  ///< scale · q·k of the run, before soft cap, biases and masks
  std::vector<StreamPart> query_parts, key_parts;
  Tensor terms;                  ///< [query parts, key parts]; they sum to `score`
  std::vector<ScoreStep> steps;  ///< one value each
};

/// Explains the score of a cell. Terms are scale · (R q_a)·(R k_b), where a and b are parts of the query's and of the
/// key's stream, and R rotates in models with rotary positions.
CellExplanation ExplainCell(const ModelAttention& attention, const MapCell& cell);

/// Explains how much larger the score of a cell is than that of key `against` in the same row: terms, score and steps
/// are differences. Softmax does not see what all scores of a row have in common, so that this says why one key wins.
CellExplanation ExplainCell(const ModelAttention& attention, const MapCell& cell, Index against);

struct RowExplanation {
  std::vector<float> scores;  ///< [S]
  std::vector<StreamPart> query_parts, key_parts;
  Tensor by_query, by_key;       ///< [query parts, S] and [key parts, S]; each column sums to the score
  std::vector<ScoreStep> steps;  ///< S values each
};

/// Explains all scores of a row, once by the parts of the query's stream and once by those of the keys' streams.
RowExplanation ExplainRow(const ModelAttention& attention, Index layer, Index head, Index query,
                          AttentionPart part = AttentionPart::kDecoder);

struct OutputExplanation {
  std::vector<StreamPart> parts;
  Tensor written;  ///< [D]: what the head writes for the query, W_O^h z
  Tensor terms;    ///< [parts, S]; they sum to the length of `written`
};

/// Explains what a head copies: terms are A_ij · ĉ·(W_O W_V x̂_b(j)), where ĉ is the direction of what it writes and
/// x̂_b(j) a part of key j's normalised stream. Where the run replaced the values of key j, its terms are 0, or the
/// means over the tokens whose mean value it put there. Throws kUnsupported where it replaced outputs of the head.
OutputExplanation ExplainOutput(const ModelAttention& attention, Index layer, Index head, Index query,
                                AttentionPart part = AttentionPart::kDecoder);

/// The sums of a head's explanations over a whole text, for every part.
struct HeadSources {
  std::vector<StreamPart> query_parts, key_parts, value_parts;
  /// Σ_ij (A_ij − U_ij) · term, where U is uniform over the keys that query i may see: how much a part raises the
  /// scores of the keys that are looked at above those of all keys. Queries that are padding do not count.
  std::vector<double> query, key;
  /// The sums of the terms of ExplainOutput.
  std::vector<double> value;
};

/// Says what the head's queries and keys are made of, and what it copies: the composition of heads on a text, where
/// CompositionScore (circuits.h) is that of weights alone. Throws as ExplainOutput.
HeadSources SourcesOf(const ModelAttention& attention, Index layer, Index head,
                      AttentionPart part = AttentionPart::kDecoder);

struct LogitExplanation {
  std::vector<StreamPart> parts;
  std::vector<float> logits;  ///< of each token
  Tensor terms;               ///< [parts, tokens]; each column sums to the logit
};

/// Explains logits at one position by what every part adds to them (direct logit attribution), with the final norm
/// frozen. `tokens` are columns of the logits. Throws kUnsupported when the model has no logits, or when they are not
/// linear in the normalised stream (BERT's prediction head).
LogitExplanation Contributions(const ModelAttention& attention, Index position, std::span<const std::int32_t> tokens);

/// The logits that a head adds directly to rows [row_begin, row_end): [rows, logits], with all norms frozen that are
/// between it and them. What later layers make of it is left out. Throws as Contributions, and kUnsupported for the
/// encoder's heads, which add nothing directly.
Tensor HeadLogits(const ModelAttention& attention, Index layer, Index head, Index row_begin, Index row_end,
                  AttentionPart part = AttentionPart::kDecoder);

/// Logit lens (nostalgebraist 2020): the logits that the model would give if layer `layer` and all after it were not
/// there. The final norm has the statistics of that stream. Needs keep_hidden alone. Throws kUnsupported when the model
/// has no logits.
Tensor LensLogits(const ModelAttention& attention, Index layer, Index row_begin, Index row_end);

/// ln Σ exp of a row of logits, and their softmax; in fp64. NaN where one of the logits is NaN.
double LogSumExp(std::span<const float> logits);
std::vector<double> Probabilities(std::span<const float> logits);

struct TokenLogit {
  std::int32_t token = 0;
  float logit = 0.0f;
};

/// The `count` largest logits, or the smallest, the most extreme first; equal ones by their token. NaN comes last.
std::vector<TokenLogit> ExtremeLogits(std::span<const float> logits, Index count, bool largest = true);

}  // namespace headlens

#endif  // HEADLENS_EXPLANATION_H_
