// SPDX-License-Identifier: Apache-2.0
/// What one kind of normaliser is made of. A new kind is a NormalizerKind, one file with one rule, its line in
/// registry.cc, and its functions in the backends.
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_

#include <optional>
#include <span>
#include <string_view>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// What is known of a row beside its scores.
struct NormalizerRow {
  const Normalizer& normalizer;
  double max;                  ///< The largest of the scores; finite.
  std::optional<double> sink;  ///< The sink of the row's head.
};

struct NormalizerRule {
  std::string_view name;
  NormalizerKind kind;
  Doc doc;
  /// Options that go with this kind only.
  std::span<const Field<Normalizer>> fields = {};
  bool takes_sinks = false;
  bool by_cell = false;  ///< Each cell stands by itself: NaN and infinite scores are welcome, and reach no other cell.
  /// Throws what is wrong with the rule's own options.
  void (*validate)(const Normalizer& normalizer) = nullptr;
  /// Turns scores (after the temperature; −∞ where masked, no NaN, at least one finite) into weights, in place, in
  /// fp64; masked cells get exactly 0. Softmax returns its ln Σ exp, the others nothing. Backends have their own.
  std::optional<double> (*reference)(std::span<double> scores, const NormalizerRow& row);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
