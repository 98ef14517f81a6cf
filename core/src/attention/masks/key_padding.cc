// SPDX-License-Identifier: Apache-2.0
/// The padding mask: each batch marks the keys that are padding.
#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<Mask> kKeyPaddingFields[] = {
    field::Booleans<&Mask::key_padding>("key_padding_mask", "B,S", "True means that the key is ignored."),
};

}  // namespace

extern const MaskRule kKeyPadding = {
    .fields = kKeyPaddingFields,
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.key_padding); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("`key_padding_mask`", SizesOf(p.mask.key_padding), {p.q.shape[0], MaskableKeys(p)});
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          marks.Different(p.mask.key_padding.at(row.b), p.mask.key_padding.strides[1], std::uint8_t{0});
        },
};

}  // namespace headlens
