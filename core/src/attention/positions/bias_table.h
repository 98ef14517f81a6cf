// SPDX-License-Identifier: Apache-2.0
/// All position biases of a problem together.
#ifndef HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_TABLE_H_
#define HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_TABLE_H_

#include <span>
#include <vector>

#include "attention/positions/bias_rule.h"

namespace headlens {

/// Every kind of position bias.
std::span<const BiasRule* const> BiasRules();

void Validate(const PositionBias& bias, Index heads);

/// A table of one head's biases by distance, in which the biases of each row are contiguous. Borrows the problem.
class BiasTable {
 public:
  explicit BiasTable(const AttentionProblem& problem);

  bool empty() const { return rules_.empty(); }

  /// The bias of one cell.
  double At(Index h, Index t, Index s) const;

  /// Computes the table of head `h`, which has T + S biases.
  void Prepare(Index h);

  /// The biases of query `t` for all keys but the appended ones. Needs Prepare.
  const float* Row(Index t) const { return values_.data() + (problem_.q.shape[2] - 1 - t); }

 private:
  double AtDistance(Index h, Index distance) const;

  const AttentionProblem& problem_;
  std::vector<const BiasRule*> rules_;
  std::vector<float> values_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_TABLE_H_
