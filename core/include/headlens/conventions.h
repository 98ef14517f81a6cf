// SPDX-License-Identifier: Apache-2.0
/// The choices that well-known libraries make where they disagree about attention.
#ifndef HEADLENS_CONVENTIONS_H_
#define HEADLENS_CONVENTIONS_H_

#include <span>
#include <string_view>
#include <utility>

#include "headlens/attention.h"

namespace headlens {

struct Conventions {
  bool mask_keeps;  ///< true: a true in a boolean mask keeps the key; false: it masks the key
  CausalAlignment causal_alignment;
  FullyMasked fully_masked;
  MaskedNan masked_nan = MaskedNan::kBlocked;
  GqaOrder gqa_order = GqaOrder::kBlock;
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
};

/// All conventions by name: "torch-mha" (nn.MultiheadAttention), "torch-sdpa" (scaled_dot_product_attention), "onnx",
/// "keras", "jax" and "flash".
std::span<const std::pair<std::string_view, Conventions>> AllConventions();

/// Returns the conventions of one library. Throws kOption, listing all names, for another name.
const Conventions& FindConventions(std::string_view name);

/// Copies these choices into `settings`.
void Choose(const Conventions& conventions, AttentionSettings& settings);

}  // namespace headlens

#endif  // HEADLENS_CONVENTIONS_H_
