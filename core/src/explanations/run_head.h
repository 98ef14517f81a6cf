// SPDX-License-Identifier: Apache-2.0
/// One head in a run: its rows of the layer's weights and tensors, and the rules by which it scores.
#ifndef HEADLENS_SRC_EXPLANATIONS_RUN_HEAD_H_
#define HEADLENS_SRC_EXPLANATIONS_RUN_HEAD_H_

#include <span>
#include <vector>

#include "explanations/parts.h"
#include "headlens/matrix.h"

namespace headlens::explanations {

/// The rows of a packed matrix that belong to one head, and their biases.
struct HeadRows {
  HeadRows(const LinearWeights& matrix, Index head, Index head_dim);

  Tensor weights;               // [d, D]
  std::span<const float> bias;  // [d] or empty
};

/// Two projections, one after the other: the weights of earlier layers are then read once for both. Both have a bias,
/// or neither; `bias` holds that of the result.
HeadRows Stacked(HeadRows first, const HeadRows& second, std::vector<float>& bias);

/// Directions [n, D] of length 1, or 0 for vectors of zeros.
Matrix DirectionsOf(const Tensor& vectors);

/// The keys whose values a run replaced, and the tokens whose mean value took their place: none for zeros.
struct ReplacedValues {
  std::vector<std::int32_t> tokens, averaged;
};

/// Borrows the run.
class RunHead {
 public:
  /// Throws kValue when there is no such head, kUnsupported when there is no such attention, and kOption when the run
  /// did not keep its parts.
  RunHead(const Run& run, Index layer, Index head, AttentionPart part);

  /// The run of the stream that queries are made of.
  const Run& run() const { return run_; }
  const Backend& backend() const { return run_.model->backend; }
  Index layer() const { return layer_; }
  Index width() const { return run_.info().head_dim; }
  /// True when queries and keys are made of different streams.
  bool is_cross() const { return is_cross_; }
  Index query_tokens() const { return run_.length(); }
  Index key_tokens() const { return key_run_.length(); }
  /// Throw kValue, naming the argument, unless there is such a token.
  void CheckQuery(Index token) const { CheckToken("query", token, query_tokens()); }
  void CheckKey(const char* name, Index token) const { CheckToken(name, token, key_tokens()); }

  HeadRows q() const { return {*(is_cross_ ? weights_.cross_q : weights_.q), head_, width()}; }
  HeadRows k() const { return {*(is_cross_ ? weights_.cross_k : weights_.k), group(), width()}; }
  HeadRows v() const { return {*(is_cross_ ? weights_.cross_v : weights_.v), group(), width()}; }
  /// The head's queries and keys as they are multiplied, and its outputs before the output projection: [tokens, d].
  View<const float, 2> queries() const { return PartOf(is_cross_ ? kept_.cross_q : kept_.q, head_); }
  View<const float, 2> keys() const { return PartOf(is_cross_ ? kept_.cross_k : kept_.k, group()); }
  View<const float, 2> outputs() const { return PartOf(AllOutputs(), head_); }

  /// The number that multiplies q·k.
  float scale() const;
  /// The factor of the head's weights.
  float factor() const;
  /// Throws kUnsupported when the run replaced outputs of the head.
  void RequireOwnOutput() const;
  /// The values of the head that the run replaced. They are sums over parts, too: of nothing, or of the means of parts.
  ReplacedValues Replaced() const;

  /// W x̂ + b for the parts of the streams that some tokens' queries are made of.
  PartProducts ProjectQueries(std::span<const std::int32_t> tokens, const HeadRows& rows) const;
  /// The same for keys and values. In attention of a stream to itself, both are the same.
  PartProducts ProjectKeys(std::span<const std::int32_t> tokens, const HeadRows& rows) const;
  /// Turn the parts x [tokens, parts, d] of queries or keys into what is multiplied in scores: they go through the
  /// layer's norm of queries or keys, frozen at the statistics of the whole vector, and are rotated by the tokens'
  /// positions, each where the model does so.
  void AsQueries(std::span<const std::int32_t> tokens, const View<float, 3>& x) const;
  void AsKeys(std::span<const std::int32_t> tokens, const View<float, 3>& x) const;
  /// Fills the stages of rows [first, first + count) of the head's map.
  void Fill(Index first, Index count, const AttentionResults& results) const;

  /// The rows that the head adds to the streams of tokens [first, first + count): W_O^h z for its outputs z, which goes
  /// through the norm of the attention's output where there is one, frozen at the statistics of all heads' sum: [count,
  /// D].
  Tensor Written(Index first, Index count) const;
  /// The transpose of that map for directions x [n, D] of tokens [first, first + n): [n, d].
  Matrix BackThroughOutput(Index first, const Matrix& x) const;

 private:
  static void CheckToken(const char* name, Index token, Index tokens);
  Index group() const { return head_ / (run_.info().heads / run_.info().kv_heads); }
  const DeviceTensor& AllOutputs() const { return is_cross_ ? kept_.cross_heads : kept_.heads; }
  const LinearWeights& Output() const { return *(is_cross_ ? weights_.cross_o : weights_.o); }
  const Norm* OutputNorm() const;
  View<const float, 2> PartOf(const DeviceTensor& rows, Index head) const;
  const Tensor& OutputWeights() const;
  double OutputFactor(Index token) const;
  void ThroughNorm(std::span<const std::int32_t> tokens, const Norm& norm, const LinearWeights& projection, Index head,
                   const View<float, 3>& x) const;
  void Rotate(std::span<const std::int32_t> tokens, View<float, 3> x) const;

  const Run &run_, &key_run_;
  Index layer_, head_;
  bool is_cross_;
  const AttentionMaps& maps_;
  const models::Layer& weights_;
  const models::Kept& kept_;
  mutable Tensor output_weights_;  // once they have been asked for
};

}  // namespace headlens::explanations

#endif  // HEADLENS_SRC_EXPLANATIONS_RUN_HEAD_H_
