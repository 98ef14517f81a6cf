// SPDX-License-Identifier: Apache-2.0
/// All masks of a problem together.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_MASK_SET_H_
#define HEADLENS_SRC_ATTENTION_MASKS_MASK_SET_H_

#include <array>
#include <span>
#include <vector>

#include "attention/masks/mask_rule.h"

namespace headlens {

/// Every kind of mask.
std::span<const MaskRule* const> MaskRules();

/// The loops of the reference backend.
const MarkLoops& PlainMarkLoops();

/// The rules that a problem's mask uses. Borrows the problem, and the loops that mark rows.
class MaskSet {
 public:
  explicit MaskSet(const AttentionProblem& problem, const MarkLoops& loops = PlainMarkLoops());

  /// The keys outside of which everything is hidden from query t. Appended keys are not included.
  KeyRange Range(Index b, Index t) const;

  /// Returns true when the Range of a query may differ between sequences.
  bool ranges_by_sequence() const { return ranges_by_sequence_; }
  /// Returns true when there is any mask.
  bool any() const { return any_; }
  /// Returns true when a row can have hidden keys inside its Range.
  bool has_marks() const { return has_marks_; }

  /// Sets marks[s − keys.begin] to 1 for the hidden keys of the row and to 0 for the others. `keys` must lie in its
  /// Range.
  void Mark(const RowIndex& row, KeyRange keys, std::uint8_t* marks);

 private:
  struct Group {
    std::vector<const MaskRule*> hiding, exempting;
  };
  void MarkGroup(const Group& group, const RowIndex& row, KeyRange keys, RowMarks& marks);

  const AttentionProblem& problem_;
  const MarkLoops& loops_;
  std::array<Group, kMaskGroups> groups_;
  bool any_ = false, has_marks_ = false, ranges_by_sequence_ = false;
  std::vector<std::uint8_t> hidden_, shown_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_MASK_SET_H_
