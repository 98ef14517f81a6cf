// SPDX-License-Identifier: Apache-2.0
#include "attention/positions/bias_table.h"

#include "attention/masks/mask_rule.h"

namespace headlens {

// One line per kind of position bias.
#define HEADLENS_BIASES(RULE) \
  RULE(kAlibi)                \
  RULE(kRelativeBias)         \
  RULE(kT5Bias)

#define HEADLENS_DECLARE(rule) extern const BiasRule rule;
HEADLENS_BIASES(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

std::span<const BiasRule* const> BiasRules() {
#define HEADLENS_ADDRESS(rule) &rule,
  static constexpr const BiasRule* kRules[] = {HEADLENS_BIASES(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS
  return kRules;
}

void Validate(const PositionBias& bias, Index heads) {
  for (const BiasRule* rule : BiasRules())
    if (rule->present(bias)) rule->validate(bias, heads);
}

BiasTable::BiasTable(const AttentionProblem& problem) : problem_(problem) {
  for (const BiasRule* rule : BiasRules())
    if (rule->present(problem.position_bias)) rules_.push_back(rule);
}

double BiasTable::AtDistance(Index h, Index distance) const {
  double sum = 0.0;
  for (const BiasRule* rule : rules_) sum += rule->at(problem_.position_bias, h, distance);
  return sum;
}

double BiasTable::At(Index h, Index t, Index s) const {
  return AtDistance(h, KeyPosition(problem_, s) - QueryPosition(problem_, t));
}

void BiasTable::Prepare(Index h) {
  if (rules_.empty()) return;
  const Index queries = problem_.q.shape[2], keys = MaskableKeys(problem_);
  values_.resize(static_cast<std::size_t>(queries + keys));
  // Entry 0 is the distance from the last query to the first key. Each later key is one entry further, and so is each
  // earlier query.
  const Index first = KeyPosition(problem_, 0) - QueryPosition(problem_, queries - 1);
  for (Index i = 0; i < queries + keys; ++i)
    values_[static_cast<std::size_t>(i)] = static_cast<float>(AtDistance(h, first + i));
}

}  // namespace headlens
