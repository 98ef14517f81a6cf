// SPDX-License-Identifier: Apache-2.0
/// An additive mask: its numbers are added to the scores elsewhere, its −∞ hide.
#include <cmath>
#include <limits>

#include "attention/masks/broadcast.h"
#include "attention/masks/mask_rule.h"
#include "by_name/mask_reader.h"

namespace headlens {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void ExpectFiniteOrMinusInfinity(const std::string& name, const View<const float, 4>& mask) {
  const auto size = [&](std::size_t dim) {
    return mask.strides[dim] ? mask.shape[dim] : std::min<Index>(mask.shape[dim], 1);
  };
  for (Index b = 0; b < size(0); ++b)
    for (Index h = 0; h < size(1); ++h)
      for (Index t = 0; t < size(2); ++t)
        for (Index s = 0; s < size(3); ++s) {
          const float value = mask(b, h, t, s);
          if (!std::isnan(value) && value != kInfinity) continue;
          throw Error(ErrorCode::kValue, name + " holds " + std::string(std::isnan(value) ? "NaN" : "+inf") + " at " +
                                             ToString(Shape{b, h, t, s}) + "; expected finite numbers or -inf");
        }
}

}  // namespace

extern const MaskRule kAdditiveMask = {
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.additive); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectMaskSizes(p, p.mask.additive);
          ExpectFiniteOrMinusInfinity("attn_mask", p.mask.additive);
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          marks.Equal(p.mask.additive.at(row.b, row.h, row.t), p.mask.additive.strides[3], -kInfinity);
        },
    .read =
        [](MaskReader& in, Mask& mask) {
          const Given* input = in.args.Find(in.names.attn_mask);
          if (!input || IsBoolean(input->dtype)) return;
          mask.additive =
              BroadcastMask(in.names.attn_mask, in.args.Floats(in.names.attn_mask, *input), input->shape, in.sizes);
          ExpectFiniteOrMinusInfinity(in.names.attn_mask, mask.additive);
        },
};

}  // namespace headlens
