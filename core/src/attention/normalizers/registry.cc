// SPDX-License-Identifier: Apache-2.0
#include "attention/normalizers/registry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/normalizers/softmax.h"
#include "base/checks.h"

namespace headlens {

// One line per kind of normaliser.
#define HEADLENS_NORMALIZERS(RULE) \
  RULE(kSoftmax)                   \
  RULE(kSparsemax)                 \
  RULE(kEntmax15)                  \
  RULE(kSigmoid)                   \
  RULE(kTopK)                      \
  RULE(kHard)                      \
  RULE(kRelu)

#define HEADLENS_DECLARE(rule) extern const NormalizerRule rule;
HEADLENS_NORMALIZERS(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

std::span<const NormalizerRule* const> NormalizerRules() {
#define HEADLENS_ADDRESS(rule) &rule,
  static constexpr const NormalizerRule* kRules[] = {HEADLENS_NORMALIZERS(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS
  return kRules;
}

std::span<const Field<Normalizer>> NormalizerFields() {
  static const std::vector<Choice> kKinds = [] {
    std::vector<Choice> kinds;
    for (const NormalizerRule* rule : NormalizerRules()) kinds.emplace_back(rule->name, rule->kind, rule->doc);
    return kinds;
  }();
  static const std::array kFields = {
      field::OneOf<&Normalizer::kind>("normalizer", kKinds,
                                      "The function that turns the masked scores of a row into its weights."),
      field::Number<&Normalizer::temperature>(
          "temperature", "The masked scores are first divided by this number, which must be above 0."),
      field::Made<&Normalizer::sinks>(
          FieldType::kSingle, "sink", "sinks",
          [](double value, Index) { return std::vector<float>{static_cast<float>(value)}; },
          "An extra logit in the denominator of softmax and top_k that has no column; with 0 it is the \"off by one\" "
          "softmax."),
      field::Finite(field::Floats<&Normalizer::sinks>("sinks", "H", "", "A `sink` for each head.")),
  };
  return kFields;
}

const NormalizerRule& FindNormalizer(NormalizerKind kind) {
  for (const NormalizerRule* rule : NormalizerRules())
    if (rule->kind == kind) return *rule;
  throw Error(ErrorCode::kOption, "there is no such normaliser");
}

void Validate(const Normalizer& normalizer, Index heads) {
  const NormalizerRule& rule = FindNormalizer(normalizer.kind);
  ExpectPositive("`temperature`", normalizer.temperature);
  if (rule.validate) rule.validate(normalizer);
  if (!normalizer.sinks) return;
  if (!rule.takes_sinks)
    throw Error(ErrorCode::kOption, "`sinks`", "", "", {"`sinks` have no meaning for ", rule.name});
  ExpectSizes("`sinks`", SizesOf(normalizer.sinks), {heads});
  ExpectFinite("`sinks`", normalizer.sinks);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Handles a row whose largest score is infinite. Scores of +∞ share the weight. When all scores are −∞, the sink takes
/// the weight, or the scores share it when there is no sink.
double NormalizeInfinite(const NormalizerRule& rule, NormalizerRow row, std::span<double> scores,
                         std::span<const std::uint8_t> hidden) {
  const double max = row.max;
  if (max < 0.0 && row.sink) {
    std::fill(scores.begin(), scores.end(), 0.0);
    return *row.sink;
  }
  for (std::size_t s = 0; s < scores.size(); ++s) scores[s] = scores[s] == max && !hidden[s] ? 0.0 : -kInfinity;
  row.max = 0.0;
  row.sink.reset();
  rule.reference(scores, row);
  return max;
}

}  // namespace

double NormalizeRow(const Normalizer& normalizer, Index h, std::span<double> scores,
                    std::span<const std::uint8_t> hidden) {
  const NormalizerRule& rule = FindNormalizer(normalizer.kind);
  NormalizerRow row{normalizer, -kInfinity,
                    normalizer.sinks ? std::optional(double{normalizer.sinks(h)}) : std::nullopt};
  for (double& x : scores) {
    x /= double{normalizer.temperature};
    if (std::isnan(x) || x > row.max) row.max = x;  // no number compares greater than a NaN, so a NaN stays the maximum
  }
  if (std::isinf(row.max) && !rule.by_cell) return NormalizeInfinite(rule, row, scores, hidden);
  if (std::isnan(row.max) && !rule.by_cell) {
    for (std::size_t s = 0; s < scores.size(); ++s) scores[s] = hidden[s] ? 0.0 : row.max;
    return row.max;
  }
  double lse = row.max;
  if (std::isfinite(row.max) && rule.kind != NormalizerKind::kSoftmax) {
    std::vector<double> copy(scores.begin(), scores.end());
    lse = *ReferenceSoftmax(copy, row);
  }
  return rule.reference(scores, row).value_or(lse);
}

}  // namespace headlens
