// SPDX-License-Identifier: Apache-2.0
#include "attention/masks/mask_set.h"

#include <algorithm>

namespace headlens {

// One line per kind of mask.
#define HEADLENS_MASKS(RULE) \
  RULE(kBooleanMask)         \
  RULE(kAdditiveMask)        \
  RULE(kKeyPadding)          \
  RULE(kValidLens)           \
  RULE(kDocuments)           \
  RULE(kCausal)              \
  RULE(kPrefix)              \
  RULE(kWindow)              \
  RULE(kDilation)            \
  RULE(kNeighborhood)        \
  RULE(kGlobalTokens)

#define HEADLENS_DECLARE(rule) extern const MaskRule rule;
HEADLENS_MASKS(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

std::span<const MaskRule* const> MaskRules() {
#define HEADLENS_ADDRESS(rule) &rule,
  static constexpr const MaskRule* kRules[] = {HEADLENS_MASKS(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS
  return kRules;
}

const MarkLoops& PlainMarkLoops() {
  static const MarkLoops kLoops;
  return kLoops;
}

MaskSet::MaskSet(const AttentionProblem& problem, const MarkLoops& loops) : problem_(problem), loops_(loops) {
  for (const MaskRule* rule : MaskRules()) {
    if (!rule->present(problem.mask)) continue;
    any_ = true;
    ranges_by_sequence_ |= rule->range && rule->by_sequence;
    Group& group = groups_[static_cast<std::size_t>(rule->group)];
    (rule->exempts ? group.exempting : group.hiding).push_back(rule);
  }
  // A rule is fully described by its range, unless it also marks keys, or an exempting rule shows keys outside the
  // range.
  for (const Group& group : groups_)
    for (const MaskRule* rule : group.hiding) has_marks_ |= rule->mark || !group.exempting.empty();
}

KeyRange MaskSet::Range(Index b, Index t) const {
  KeyRange all{0, MaskableKeys(problem_)};
  if (!any_) return all;
  for (const Group& group : groups_) {
    KeyRange range = all;
    for (const MaskRule* rule : group.hiding) {
      if (!rule->range) continue;
      const KeyRange visible = rule->range(problem_, b, t);
      range = {std::max(range.begin, visible.begin), std::min(range.end, visible.end)};
    }
    if (range.end <= range.begin) range = {0, 0};
    for (const MaskRule* rule : group.exempting) {
      const KeyRange shown = rule->range ? rule->range(problem_, b, t) : all;
      if (shown.begin >= shown.end) continue;
      range = range.begin == range.end ? shown
                                       : KeyRange{std::min(range.begin, shown.begin), std::max(range.end, shown.end)};
    }
    all = {std::max(all.begin, range.begin), std::min(all.end, range.end)};
  }
  return all.end > all.begin ? all : KeyRange{0, 0};
}

void MaskSet::Mark(const RowIndex& row, KeyRange keys, std::uint8_t* marks) {
  std::fill_n(marks, keys.end - keys.begin, std::uint8_t{0});
  RowMarks all(keys, marks, loops_);
  for (const Group& group : groups_) {
    if (!group.hiding.empty()) MarkGroup(group, row, keys, all);
  }
}

void MaskSet::MarkGroup(const Group& group, const RowIndex& row, KeyRange keys, RowMarks& marks) {
  if (group.exempting.empty()) {
    for (const MaskRule* rule : group.hiding)
      if (rule->mark) rule->mark(problem_, row, marks);
    return;
  }
  const auto count = static_cast<std::size_t>(keys.end - keys.begin);
  hidden_.assign(count, 0);
  shown_.assign(count, 0);
  RowMarks hidden(keys, hidden_.data(), loops_), shown(keys, shown_.data(), loops_);
  for (const MaskRule* rule : group.hiding) {
    if (rule->range) hidden.Outside(rule->range(problem_, row.b, row.t));
    if (rule->mark) rule->mark(problem_, row, hidden);
  }
  for (const MaskRule* rule : group.exempting) {
    if (rule->mark) {
      rule->mark(problem_, row, shown);
    } else {
      shown.Inside(rule->range ? rule->range(problem_, row.b, row.t) : keys);
    }
  }
  marks.Unless(hidden_.data(), shown_.data());
}

}  // namespace headlens
