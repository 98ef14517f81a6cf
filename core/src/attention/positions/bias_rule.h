// SPDX-License-Identifier: Apache-2.0
/// What one kind of position bias is made of. A new kind is one file with one rule, and its line in bias_table.cc.
#ifndef HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
#define HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_

#include <span>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

struct BiasRule {
  /// The options and tensors that callers give it by name.
  std::span<const Field<PositionBias>> fields;
  /// Returns true when `bias` uses this rule.
  bool (*present)(const PositionBias& bias);
  /// Throws what is wrong with the rule's part of the bias.
  void (*validate)(const PositionBias& bias, Index heads);
  /// The bias of head `h` where the key stands `distance` positions after the query.
  double (*at)(const PositionBias& bias, Index h, Index distance);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
