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
      field::OneOf<&AttentionSettings::fully_masked>("fully_masked", kFullyMasked,
                                                     "The output and weights of a query that may look at no key. The "
                                                     "default depends on `conventions`, and is \"zero\" without them."),
      field::OneOf<&AttentionSettings::masked_nan>(
          "masked_nan", kMaskedNan,
          "The effect of a NaN or an infinity in a masked key or value. \"blocked\" (default): none, except in a fully "
          "masked row with \"uniform\", whose output is the mean of all values. \"spreads\": the row becomes NaN, as "
          "in PyTorch's scaled_dot_product_attention, which adds −∞ to the score and multiplies the value by 0."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> ScoreFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::OneOf<&AttentionSettings::gqa_order>("gqa_order", kGqaOrder,
                                                  "The key/value head that query head h reads: ⌊h·G/H⌋ (\"block\") or "
                                                  "h mod G (\"interleaved\"). The default depends on `conventions`."),
      field::Number<&AttentionSettings::softcap>(
          "softcap", "Scores become softcap · tanh(scores / softcap). With 0 (default) there is no cap."),
      field::OneOf<&AttentionSettings::softcap_order>(
          "softcap_order", kSoftcapOrder,
          "The soft cap is applied before masks and biases are added (\"before_bias\") or after (\"after_bias\"). The "
          "default depends on `conventions`."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> SeedFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::Count<&AttentionSettings::seed>(
          "seed", 0,
          "The seed of the dropout on the weights. The same seed always drops the same weights. A decoder layer's "
          "attention over the memory uses seed + 1."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> DropoutFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::Number<&AttentionSettings::dropout_p>(
          "dropout_p", "Each weight is dropped with this probability; the others are divided by 1 − p."),
  };
  return kFields;
}

std::span<const Field<AttentionSettings>> HeadMaskFields() {
  static constexpr Field<AttentionSettings> kFields[] = {
      field::Finite(field::Floats<&AttentionSettings::head_mask>(
          "head_mask", "B,H", "H",
          "Each head's weights are multiplied by this factor after dropout; 0 removes the head.")),
  };
  return kFields;
}

}  // namespace headlens
