// SPDX-License-Identifier: Apache-2.0
/// Valid lengths: the leading keys that a batch, or each of its queries, may look at.
#include "attention/masks/mask_rule.h"
#include "base/checks.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kValidLens = {
    .tensors = {"valid_lens"},
    .present = [](const Mask& mask) { return static_cast<bool>(mask.valid_lens); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("valid_lens", SizesOf(p.mask.valid_lens), {p.q.shape[0], p.q.shape[2]});
        },
    .range = [](const AttentionProblem& p, Index b, Index t) { return KeyRange{0, p.mask.valid_lens(b, t)}; },
    .read =
        [](MaskReader& in, Mask& mask) {
          const auto& [batch, heads, queries, keys, batched] = in.sizes;
          const Given* input = in.args.Find("valid_lens");
          if (!input) return;
          const bool per_query = input->shape == Shape{batch, queries};
          if (!per_query && input->shape != Shape{batch}) {
            throw Error(ErrorCode::kShape, "valid_lens has shape " + ToString(input->shape) + ", expected " +
                                               ToString({batch}) + " or " + ToString({batch, queries}));
          }
          const std::int32_t* lengths = in.args.Integers("valid_lens", *input, 0, keys);
          mask.valid_lens = {lengths, {batch, queries}, {per_query ? queries : 1, per_query ? 1 : 0}};
        },
};

}  // namespace headlens
