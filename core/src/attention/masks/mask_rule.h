// SPDX-License-Identifier: Apache-2.0
/// The description of one kind of mask. A new kind needs a member of Mask (attention.h), a file with its rule here, and
/// a line in mask_set.cc.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
#define HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_

#include <span>

#include "attention/masks/row_marks.h"
#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// A key is hidden when a rule of some group hides it and no exempting rule of the same group shows it.
enum class MaskGroup { kAlways, kOrder, kLocality };
inline constexpr int kMaskGroups = 3;

/// A row of the map: query t of head h in batch b.
struct RowIndex {
  Index b, h, t;
};

struct MaskRule {
  /// The options and tensors under which callers give this mask by name.
  std::span<const Field<Mask>> fields;
  MaskGroup group = MaskGroup::kAlways;
  bool exempts = false;    ///< The rule shows keys that other rules of its group hide, instead of hiding any.
  bool any_input = false;  ///< The rule also applies to a decoder layer's attention over the memory.

  /// Returns true when `mask` uses this rule.
  bool (*present)(const Mask& mask);
  /// Fills in the parts that callers who give masks by name may leave out.
  void (*complete)(Mask& mask, Index queries, Index keys) = nullptr;
  /// Throws an Error when the rule's part of the mask is wrong. Null: nothing can be wrong.
  void (*validate)(const AttentionProblem& problem) = nullptr;

  /// The keys that a query may see: the rule hides every key outside this range. An exempting rule shows no key outside
  /// it. Null: there is no such range.
  KeyRange (*range)(const AttentionProblem& problem, Index b, Index t) = nullptr;
  bool by_sequence = false;  ///< The range differs between the sequences of a batch.
  /// Marks the keys inside the range that the rule hides. An exempting rule marks those that it shows. Null: the rule
  /// hides none of them, and an exempting rule shows them all.
  void (*mark)(const AttentionProblem& problem, const RowIndex& row, RowMarks& marks) = nullptr;
};

/// The number of keys that masks cover, which is all but the appended ones.
inline Index MaskableKeys(const AttentionProblem& problem) { return problem.k.shape[2] - problem.mask.appended_keys; }

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
