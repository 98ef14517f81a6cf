// SPDX-License-Identifier: Apache-2.0
#include "masks/mask_set.h"

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

MaskSet::MaskSet(const AttentionProblem& problem) : problem_(problem) {
  for (const MaskRule* rule : MaskRules()) {
    if (!rule->present(problem.mask)) continue;
    Group& group = groups_[static_cast<std::size_t>(rule->group)];
    (rule->exempts ? group.exempting : group.hiding).push_back(rule);
  }
  // A range describes its rule wholly, unless it also marks, or an exemption shows some of what lies outside.
  for (const Group& group : groups_)
    for (const MaskRule* rule : group.hiding) has_marks_ |= rule->mark || !group.exempting.empty();
}

KeyRange MaskSet::Range(Index b, Index t) const {
  KeyRange all{0, MaskableKeys(problem_)};
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
  for (const Group& group : groups_) {
    if (!group.hiding.empty()) MarkGroup(group, row, keys, marks);
  }
}

void MaskSet::MarkGroup(const Group& group, const RowIndex& row, KeyRange keys, std::uint8_t* marks) {
  if (group.exempting.empty()) {
    for (const MaskRule* rule : group.hiding)
      if (rule->mark) rule->mark(problem_, row, keys, marks);
    return;
  }
  const auto count = static_cast<std::size_t>(keys.end - keys.begin);
  hidden_.assign(count, 0);
  shown_.assign(count, 0);
  const auto outside = [&](const MaskRule& rule) { return rule.range ? rule.range(problem_, row.b, row.t) : keys; };
  for (const MaskRule* rule : group.hiding) {
    const KeyRange visible = outside(*rule);
    MarkWhere(keys, hidden_.data(), [&](Index s) { return s < visible.begin || s >= visible.end; });
    if (rule->mark) rule->mark(problem_, row, keys, hidden_.data());
  }
  for (const MaskRule* rule : group.exempting) {
    const KeyRange shown = outside(*rule);
    if (rule->mark) {
      rule->mark(problem_, row, keys, shown_.data());
    } else {
      MarkWhere(keys, shown_.data(), [&](Index s) { return s >= shown.begin && s < shown.end; });
    }
  }
  for (std::size_t i = 0; i < count; ++i) marks[i] |= static_cast<std::uint8_t>(hidden_[i] & (shown_[i] ^ 1));
}

}  // namespace headlens
