// SPDX-License-Identifier: Apache-2.0
/// What one kind of mask is made of. A new kind is one file with one rule, and its line in mask_set.cc.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
#define HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_

#include <array>
#include <string_view>

#include "attention/masks/row_marks.h"
#include "headlens/attention.h"

namespace headlens {

class MaskReader;

/// Rules of one group hide together what none of the group's exempting rules shows.
enum class MaskGroup { kAlways, kOrder, kLocality };
inline constexpr int kMaskGroups = 3;

/// A row of the problem: query t of head h in batch b.
struct RowIndex {
  Index b, h, t;
};

struct MaskRule {
  /// The tensors that it takes; `attn_mask` and `key_padding_mask`, which ops name differently, are theirs.
  std::array<std::string_view, 2> tensors{};
  MaskGroup group = MaskGroup::kAlways;
  bool exempts = false;    ///< shows cells in spite of its group, instead of hiding them
  bool any_input = false;  ///< applies to the attention over a decoder layer's memory too

  bool (*present)(const Mask& mask);
  void (*validate)(const AttentionProblem& problem) = nullptr;

  /// The keys outside of which the rule hides (shows) everything; null: it may be anywhere.
  KeyRange (*range)(const AttentionProblem& problem, Index b, Index t) = nullptr;
  /// Inside its range, too, the rule hides (shows) cells: those that `mark` sets. Null: all inside are visible (shown).
  void (*mark)(const AttentionProblem& problem, const RowIndex& row, RowMarks& marks) = nullptr;

  /// Takes the rule's options and tensors.
  void (*read)(MaskReader& in, Mask& mask);
};

/// Number of keys that masks speak of: all but the appended ones.
inline Index MaskableKeys(const AttentionProblem& problem) { return problem.k.shape[2] - problem.mask.appended_keys; }

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_MASK_RULE_H_
