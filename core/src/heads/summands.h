// SPDX-License-Identifier: Apache-2.0
/// The summands of an attention layer's output, key by key.
#ifndef HEADLENS_SRC_HEADS_SUMMANDS_H_
#define HEADLENS_SRC_HEADS_SUMMANDS_H_

#include "headlens/attribution.h"
#include "heads/maps.h"

namespace headlens::metrics {

/// The summands u_ij of an attention layer's output Y_i = Σ_j u_ij, where u_ij = Σ_h α^h_ij f^h(x_j). Only one key's
/// vectors f^h(x_j) are in memory at a time.
class Summands {
 public:
  /// Throws as HeadMap does when sizes or weights are wrong.
  explicit Summands(const AttentionSummands& layer);

  Index heads() const { return layer_.weights.shape[0]; }
  Index queries() const { return layer_.weights.shape[1]; }
  Index keys() const { return layer_.weights.shape[2]; }
  Index width() const { return layer_.out_weight.shape[0]; }
  /// Returns true when row i is valid in some head.
  bool IsValid(Index i) const { return valid_[static_cast<std::size_t>(i)]; }

  /// Moves to key j and computes f^h(x_j) for all heads. Returns false when no query looks at the key; its values may
  /// then hold anything, even NaN. Throws kValue when they are not finite otherwise.
  bool SeekKey(Index j);
  /// f^h(x_j) of the current key, as [H, D].
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
