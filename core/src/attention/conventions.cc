// SPDX-License-Identifier: Apache-2.0
#include "headlens/conventions.h"

#include <string>

#include "base/words.h"

namespace headlens {

std::span<const std::pair<std::string_view, Conventions>> AllConventions() {
  static constexpr std::pair<std::string_view, Conventions> kAll[] = {
      {"torch-mha", {false, CausalAlignment::kTopLeft, FullyMasked::kNan}},
      {"torch-sdpa", {true, CausalAlignment::kTopLeft, FullyMasked::kZero, MaskedNan::kSpreads}},
      {"onnx", {true, CausalAlignment::kBottomRight, FullyMasked::kZero}},
      {"keras", {true, CausalAlignment::kTopLeft, FullyMasked::kZero}},
      {"jax", {true, CausalAlignment::kTopLeft, FullyMasked::kUniform}},
      {"flash", {true, CausalAlignment::kBottomRight, FullyMasked::kZero}},
  };
  return kAll;
}

const Conventions& FindConventions(std::string_view name) {
  for (const auto& named : AllConventions())
    if (named.first == name) return named.second;
  throw OptionError("`conventions`", Quoted(name),
                    {"one of ", Joined(AllConventions(), [](const auto& named) { return Quoted(named.first); })});
}

void Choose(const Conventions& conventions, AttentionSettings& settings) {
  settings.mask.boolean_keeps = conventions.mask_keeps;
  settings.mask.causal_alignment = conventions.causal_alignment;
  settings.fully_masked = conventions.fully_masked;
  settings.masked_nan = conventions.masked_nan;
  settings.gqa_order = conventions.gqa_order;
  settings.softcap_order = conventions.softcap_order;
}

}  // namespace headlens
