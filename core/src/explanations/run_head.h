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

/// Borrows the run.
class RunHead {
 public:
  /// Throws kValue when there is no such head, and kOption when the run did not keep its parts.
  RunHead(const Run& run, Index layer, Index head);

  const Run& run() const { return run_; }
  const Backend& backend() const { return run_.model->backend; }
  Index layer() const { return layer_; }
  Index head() const { return head_; }
  Index width() const { return run_.info().head_dim; }
  Index tokens() const { return run_.length(); }
  /// Throws kValue, naming the argument, unless there is such a token.
  void CheckToken(const char* name, Index token) const;

  HeadRows q() const { return {*weights_.q, head_, width()}; }
  HeadRows k() const { return {*weights_.k, group(), width()}; }
  HeadRows v() const { return {*weights_.v, group(), width()}; }
  /// The head's queries and keys as they are multiplied, and its outputs before the output projection: [T, d].
  View<const float, 2> queries() const { return PartOf(run_.At(layer_).kept.q, head_); }
  View<const float, 2> keys() const { return PartOf(run_.At(layer_).kept.k, group()); }
  View<const float, 2> outputs() const { return PartOf(run_.At(layer_).kept.heads, head_); }

  /// The number that multiplies q·k.
  float scale() const;
  /// The factor of the head's weights.
  float factor() const;
  /// Throws kUnsupported when the run replaced values of the head, or its outputs.
  void RequireOwnOutput() const;

  /// W x̂ + b for the parts of some tokens' streams before the layer.
  PartProducts Project(std::span<const std::int32_t> tokens, const HeadRows& rows) const;
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
  Index group() const { return head_ / (run_.info().heads / run_.info().kv_heads); }
  View<const float, 2> PartOf(const DeviceTensor& rows, Index head) const;
  const Tensor& OutputWeights() const;
  double OutputFactor(Index token) const;
  void ThroughNorm(std::span<const std::int32_t> tokens, const Norm& norm, const LinearWeights& projection, Index head,
                   const View<float, 3>& x) const;
  void Rotate(std::span<const std::int32_t> tokens, View<float, 3> x) const;

  const Run& run_;
  Index layer_, head_;
  const AttentionMaps& maps_;
  const models::Layer& weights_;
  mutable Tensor output_weights_;  // once they have been asked for
};

}  // namespace headlens::explanations

#endif  // HEADLENS_SRC_EXPLANATIONS_RUN_HEAD_H_
