// SPDX-License-Identifier: Apache-2.0
/// The description of one kind of position bias. A new kind needs a view in PositionBias (attention.h), a file with its
/// rule here, and a line in bias_table.cc.
#ifndef HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
#define HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_

#include <span>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

struct BiasRule {
  /// The options and tensors under which callers give this bias by name.
  std::span<const Field<PositionBias>> fields;
  /// Returns true when `bias` uses this rule.
  bool (*present)(const PositionBias& bias);
  /// Throws an Error when the rule's part of the bias is wrong.
  void (*validate)(const PositionBias& bias, Index heads);
  /// The bias of head `h` where the key stands `distance` positions after the query.
  double (*at)(const PositionBias& bias, Index h, Index distance);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
