// SPDX-License-Identifier: Apache-2.0
/// Padding keys, by batch.
#include "attention/masks/mask_rule.h"
#include "base/checks.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kKeyPadding = {
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.key_padding); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("key_padding_mask", SizesOf(p.mask.key_padding), {p.q.shape[0], MaskableKeys(p)});
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          marks.Different(p.mask.key_padding.at(row.b), p.mask.key_padding.strides[1], std::uint8_t{0});
        },
    .read =
        [](MaskReader& in, Mask& mask) {
          const auto& [batch, heads, queries, keys, batched] = in.sizes;
          if (const Given* input = in.Find(in.names.key_padding_mask, {batch, keys}))
            mask.key_padding = DenseView(in.args.Booleans(in.names.key_padding_mask, *input), std::array{batch, keys});
        },
};

}  // namespace headlens
