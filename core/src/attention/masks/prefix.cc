// SPDX-License-Identifier: Apache-2.0
/// A prefix that every query sees, in spite of causality (Raffel et al. 2020, §3.2.1).
#include "attention/masks/mask_rule.h"
#include "base/checks.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kPrefix = {
    .tensors = {"prefix_lens"},
    .group = MaskGroup::kOrder,
    .exempts = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.prefix_lens); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("prefix_lens", SizesOf(p.mask.prefix_lens), {p.q.shape[0]});
          if (!p.mask.causal)
            throw Error(ErrorCode::kOption, "prefix_lens needs is_causal: without it every query sees the prefix");
        },
    .range = [](const AttentionProblem& p, Index b, Index) { return KeyRange{0, p.mask.prefix_lens(b)}; },
    .read =
        [](MaskReader& in, Mask& mask) {
          const auto& [batch, heads, queries, keys, batched] = in.sizes;
          const Given* input = in.args.Find("prefix_lens");
          if (!input) return;
          if (input->shape != Shape{batch}) {
            throw Error(ErrorCode::kShape,
                        "prefix_lens has shape " + ToString(input->shape) + ", expected " + ToString({batch}));
          }
          mask.prefix_lens = DenseView(in.args.Integers("prefix_lens", *input, 0, keys), std::array{batch});
        },
};

}  // namespace headlens
