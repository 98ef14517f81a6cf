// SPDX-License-Identifier: Apache-2.0
/// Valid lengths: the number of leading keys that each batch, or each query, may look at.
#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<Mask> kValidLensFields[] = {
    field::Lengths<&Mask::valid_lens>("valid_lens", "B,T", "B",
                                      "The number of valid keys, for all queries of a batch or for each query. Inputs "
                                      "without a batch have [1] or [1,T]."),
};

}  // namespace

extern const MaskRule kValidLens = {
    .fields = kValidLensFields,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.valid_lens); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("`valid_lens`", SizesOf(p.mask.valid_lens), {p.q.shape[0], p.q.shape[2]});
        },
    .range = [](const AttentionProblem& p, Index b, Index t) { return KeyRange{0, p.mask.valid_lens(b, t)}; },
    .by_sequence = true,
};

}  // namespace headlens
