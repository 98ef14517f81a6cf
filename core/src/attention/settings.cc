// SPDX-License-Identifier: Apache-2.0
#include "attention/settings.h"

namespace headlens {
namespace {

constexpr Choice kFullyMasked[] = {
    {"zero", FullyMasked::kZero}, {"nan", FullyMasked::kNan}, {"uniform", FullyMasked::kUniform}};
constexpr Choice kMaskedNan[] = {{"blocked", MaskedNan::kBlocked}, {"spreads", MaskedNan::kSpreads}};
constexpr Choice kGqaOrder[] = {{"block", GqaOrder::kBlock}, {"interleaved", GqaOrder::kInterleaved}};
constexpr Choice kSoftcapOrder[] = {{"before_bias", SoftcapOrder::kBeforeBias},
                                    {"after_bias", SoftcapOrder::kAfterBias}};

}  // namespace

std::span<const Field<AttentionSettings>> MaskedRowFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::OneOf<&AttentionSettings::fully_masked>(
          "fully_masked", kFullyMasked,
          "What a query with no key to look at gets. Default as `conventions` say, and zero without them."),
      field::OneOf<&AttentionSettings::masked_nan>(
          "masked_nan", kMaskedNan,
          "What a NaN or an infinity in a masked key or value does: nothing (default; but \"uniform\" averages all "
          "values, masked ones too, so that one of them does reach such a row's output), or what adding −∞ to its "
          "score "
          "and multiplying its value by 0 makes of it, as PyTorch's scaled_dot_product_attention has it."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> AttentionFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::OneOf<&AttentionSettings::gqa_order>("gqa_order", kGqaOrder,
                                                  "Which key/value head query head h reads: ⌊h·G/H⌋ "
                                                  "(\"block\") or h mod G. Default as `conventions` say."),
      field::Number<&AttentionSettings::softcap>(
          "softcap", "Scores become softcap · tanh(scores / softcap). 0 (default): not capped."),
      field::OneOf<&AttentionSettings::softcap_order>(
          "softcap_order", kSoftcapOrder,
          "Masks and biases are added after the cap (\"before_bias\") or before it. Default as `conventions` say."),
      field::Count<&AttentionSettings::seed>("seed", 0,
                                             "Seed of the dropout on the weights (counter-based: same seed, same "
                                             "mask). A decoder layer's attention to its "
                                             "memory takes the next one."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> DropoutFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::Number<&AttentionSettings::dropout_p>(
          "dropout_p", "Each weight is dropped with this probability, the others are divided by 1 − p."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> HeadMaskFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::Floats<&AttentionSettings::head_mask>("head_mask", "B,H", "H",
                                                   "Factors on the heads' weights after dropout: 0 takes a head out."),
  };
  return kFields;
}

}  // namespace headlens
