// SPDX-License-Identifier: Apache-2.0
/// What one kind of position bias is made of. A new kind is one file with one rule, and its line in bias_table.cc.
#ifndef HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
#define HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_

#include <string_view>

#include "headlens/attention.h"

namespace headlens {

class Arguments;
class OptionReader;

/// Takes a bias's options and tensors; keeps what had to be made.
struct BiasReader {
  OptionReader& options;
  Arguments& args;
  Index heads;
};

struct BiasRule {
  std::string_view tensor;
  bool (*present)(const PositionBias& bias);
  void (*validate)(const PositionBias& bias, Index heads);
  /// The bias of head `h` where the key stands `distance` positions after the query.
  double (*at)(const PositionBias& bias, Index h, Index distance);
  void (*read)(BiasReader& in, PositionBias& bias);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_POSITIONS_BIAS_RULE_H_
