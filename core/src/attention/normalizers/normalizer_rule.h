// SPDX-License-Identifier: Apache-2.0
/// The description of one kind of normaliser. A new kind needs a name in NormalizerKind, members of Normalizer for its
/// options (both in attention.h), a file with its rule here, a line in registry.cc, and kernels in the backends.
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_

#include <optional>
#include <span>
#include <string_view>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// The facts about a row that a normaliser needs beside its scores.
struct NormalizerRow {
  const Normalizer& normalizer;
  double max;                  ///< The largest of the scores; finite.
  std::optional<double> sink;  ///< The sink of the row's head.
};

struct NormalizerRule {
  std::string_view name;
  NormalizerKind kind;
  Doc doc;
  /// Options that apply to this kind only.
  std::span<const Field<Normalizer>> fields = {};
  bool takes_sinks = false;
  bool by_cell = false;  ///< Each weight depends on its own score only, so NaN and infinite scores are allowed.
  /// Throws an Error when the rule's own options are wrong. Null: nothing can be wrong.
  void (*validate)(const Normalizer& normalizer) = nullptr;
  /// Turns the scores of a row into weights, in place and in fp64. The scores are already divided by the temperature,
  /// −∞ where masked; none is NaN and at least one is finite, unless `by_cell`. Masked cells get exactly 0. Softmax
  /// returns ln Σ exp of the scores, and the other kinds return nothing. Other backends have kernels of their own.
  std::optional<double> (*reference)(std::span<double> scores, const NormalizerRow& row);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
