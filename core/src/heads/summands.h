// SPDX-License-Identifier: Apache-2.0
/// The summands of an attention layer's output, key by key.
#ifndef HEADLENS_SRC_HEADS_SUMMANDS_H_
#define HEADLENS_SRC_HEADS_SUMMANDS_H_

#include "headlens/attribution.h"
#include "heads/maps.h"

namespace headlens::metrics {

/// Y_i = Σ_j u_ij, u_ij = Σ_h α^h_ij f^h(x_j): never more than one key's vectors f^h(x_j) at a time.
class Summands {
 public:
  /// Checks sizes and weights.
  explicit Summands(const AttentionSummands& layer);

  Index heads() const { return layer_.weights.shape[0]; }
  Index queries() const { return layer_.weights.shape[1]; }
  Index keys() const { return layer_.weights.shape[2]; }
  Index width() const { return layer_.out_weight.shape[0]; }
  /// Whether row i is valid in any head.
  bool IsValid(Index i) const { return valid_[static_cast<std::size_t>(i)]; }

  /// Goes to key j and computes f^h(x_j) of all heads. False when no query looks at it: whatever its values are then,
  /// NaN even, they reach nothing. Throws kValue when they are not finite.
  bool SeekKey(Index j);
  /// f^h(x_j) [H, D] of the current key.
  const Matrix& vectors() const { return vectors_; }
  /// α^h_ij of all heads for the current key; 0 in rows that are not valid.
  std::span<const double> Weights(Index i) const { return weights_.row(i); }
  /// u ← u + scale · u_ij for the current key.
  void AddSummand(Index i, double scale, std::span<double> u) const;

 private:
  AttentionSummands layer_;
  std::vector<HeadMap> maps_;
  std::vector<bool> valid_;  // [T]
  Matrix vectors_;           // [H, D]
  Matrix weights_;           // [T, H]
};

}  // namespace headlens::metrics

#endif  // HEADLENS_SRC_HEADS_SUMMANDS_H_
