// SPDX-License-Identifier: Apache-2.0
/// Global tokens: every query sees them, and their own queries see every key, in spite of windows, dilation and
/// neighborhoods (Beltagy et al. 2020, §3.1).
#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<Mask> kGlobalTokensFields[] = {
    field::Booleans<&Mask::global_tokens>("global_tokens", "B,S",
                                          "True marks a token that every query sees and whose own query sees every "
                                          "key, in spite of windows, dilation and "
                                          "neighborhoods."),
};

}  // namespace

extern const MaskRule kGlobalTokens = {
    .fields = kGlobalTokensFields,
    .group = MaskGroup::kLocality,
    .exempts = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.global_tokens); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("`global_tokens`", SizesOf(p.mask.global_tokens), {p.q.shape[0], MaskableKeys(p)});
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          const auto& global = p.mask.global_tokens;
          const Index own = QueryPosition(p, row.t) - p.key_offset;
          const bool sees_all = own >= 0 && own < global.shape[1] && global(row.b, own) != 0;
          sees_all ? marks.All() : marks.Different(global.at(row.b), global.strides[1], std::uint8_t{0});
        },
};

}  // namespace headlens
