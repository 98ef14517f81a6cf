// SPDX-License-Identifier: Apache-2.0
/// What one kind of mask is made of. A new kind is one file with one rule, and its line in mask_set.cc.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
#define HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_

#include <span>

#include "attention/masks/row_marks.h"
#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// Rules of one group hide together what none of the group's exempting rules shows.
enum class MaskGroup { kAlways, kOrder, kLocality };
inline constexpr int kMaskGroups = 3;

/// A row of the problem: query t of head h in batch b.
struct RowIndex {
  Index b, h, t;
};

struct MaskRule {
  /// The options and tensors that callers give it by name.
  std::span<const Field<Mask>> fields;
  MaskGroup group = MaskGroup::kAlways;
  bool exempts = false;    ///< The rule shows cells in spite of its group, instead of hiding them.
  bool any_input = false;  ///< The rule applies to the attention over a decoder layer's memory, too.

  /// Returns true when `mask` uses this rule.
  bool (*present)(const Mask& mask);
  /// Fills in what callers who give masks by name may leave out.
  void (*complete)(Mask& mask, Index queries, Index keys) = nullptr;
  /// Throws what is wrong with the rule's part of the mask.
  void (*validate)(const AttentionProblem& problem) = nullptr;

  /// The keys outside of which the rule hides (an exempting one: shows) every key or none. Null: it has no such range.
  KeyRange (*range)(const AttentionProblem& problem, Index b, Index t) = nullptr;
  /// Marks the cells inside its range that the rule hides (an exempting one: shows). Null: it hides none there (shows
  /// all).
  void (*mark)(const AttentionProblem& problem, const RowIndex& row, RowMarks& marks) = nullptr;
};

/// Number of keys that masks speak of: all but the appended ones.
inline Index MaskableKeys(const AttentionProblem& problem) { return problem.k.shape[2] - problem.mask.appended_keys; }

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
