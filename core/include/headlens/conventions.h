// SPDX-License-Identifier: Apache-2.0
/// The well-known libraries disagree about attention on some points; here stands the choice that each of them makes.
#ifndef HEADLENS_CONVENTIONS_H_
#define HEADLENS_CONVENTIONS_H_

#include <span>
#include <string_view>
#include <utility>

#include "headlens/attention.h"

namespace headlens {

struct Conventions {
  bool mask_keeps;  ///< a true in a boolean mask keeps the key; if false, it has the key ignored
  CausalAlignment causal_alignment;
  FullyMasked fully_masked;
  MaskedNan masked_nan = MaskedNan::kBlocked;
  GqaOrder gqa_order = GqaOrder::kBlock;
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
};

/// "torch-mha" (nn.MultiheadAttention), "torch-sdpa" (scaled_dot_product_attention), "onnx", "keras", "jax", "flash".
std::span<const std::pair<std::string_view, Conventions>> AllConventions();

/// Returns the conventions of one library. Throws kOption, with all names, for another name.
const Conventions& FindConventions(std::string_view name);

/// Sets each of these points in `settings`.
void Choose(const Conventions& conventions, AttentionSettings& settings);

}  // namespace headlens

#endif  // HEADLENS_CONVENTIONS_H_
