// SPDX-License-Identifier: Apache-2.0
#include "normalizers/registry.h"

#include <cmath>
#include <string>
#include <vector>

#include "checks.h"
#include "inputs.h"
#include "options.h"

namespace headlens {

// One line per kind of normaliser.
#define HEADLENS_NORMALIZERS(RULE) \
  RULE(kSoftmax)                   \
  RULE(kSparsemax)                 \
  RULE(kEntmax15)                  \
  RULE(kSigmoid)                   \
  RULE(kTopK)                      \
  RULE(kHard)

#define HEADLENS_DECLARE(rule) extern const NormalizerRule rule;
HEADLENS_NORMALIZERS(HEADLENS_DECLARE)
#undef HEADLENS_DECLARE

std::span<const NormalizerRule* const> NormalizerRules() {
#define HEADLENS_ADDRESS(rule) &rule,
  static constexpr const NormalizerRule* kRules[] = {HEADLENS_NORMALIZERS(HEADLENS_ADDRESS)};
#undef HEADLENS_ADDRESS
  return kRules;
}

const NormalizerRule& FindNormalizer(NormalizerKind kind) {
  for (const NormalizerRule* rule : NormalizerRules())
    if (rule->kind == kind) return *rule;
  throw Error(ErrorCode::kOption, "there is no such normaliser");
}

void Validate(const Normalizer& normalizer, Index heads) {
  const NormalizerRule& rule = FindNormalizer(normalizer.kind);
  if (!(normalizer.temperature > 0.0f) || !std::isfinite(1.0f / normalizer.temperature)) {
    throw Error(ErrorCode::kValue,
                "temperature is " + std::to_string(normalizer.temperature) + ", expected a positive number");
  }
  if (rule.validate) rule.validate(normalizer);
  if (!normalizer.sinks) return;
  if (!rule.takes_sinks) throw Error(ErrorCode::kOption, "sinks have no meaning for " + std::string(rule.name));
  ExpectSizes("sinks", SizesOf(normalizer.sinks), {heads});
  ExpectFinite("sinks", normalizer.sinks);
}

namespace {

/// Says that an option goes with one normaliser only.
void ExpectOnlyWith(OptionReader& options, const char* option, bool allowed, const char* kind) {
  if (options.Has(option) && !allowed) {
    throw Error(ErrorCode::kOption, std::string(option) + " goes with normalizer \"" + kind + "\" only");
  }
}

}  // namespace

Normalizer ReadNormalizer(OptionReader& options, Arguments& args, Index heads) {
  std::vector<std::pair<std::string_view, NormalizerKind>> kinds;
  for (const NormalizerRule* rule : NormalizerRules()) kinds.emplace_back(rule->name, rule->kind);
  Normalizer normalizer;
  normalizer.kind = options.Choice("normalizer", NormalizerKind::kSoftmax, kinds);
  normalizer.temperature = static_cast<float>(options.Number("temperature", 1.0));
  normalizer.top_k = options.Count("top_k", 0, 1);
  normalizer.sigmoid_bias = static_cast<float>(options.Number("sigmoid_bias", 0.0));
  ExpectOnlyWith(options, "top_k", normalizer.kind == NormalizerKind::kTopK, "top_k");
  ExpectOnlyWith(options, "sigmoid_bias", normalizer.kind == NormalizerKind::kSigmoid, "sigmoid");
  const Given* sinks = args.Find("sinks");
  if (const std::optional<double> sink = options.Number("sink")) {
    if (sinks)
      throw Error(ErrorCode::kOption, "sink is one number for all heads, and sinks gives each its own: leave one out");
    const float value = static_cast<float>(*sink);
    normalizer.sinks = {args.Keep({&value, 1}), {heads}, {0}};
  } else if (sinks) {
    ExpectSizes("sinks", sinks->shape, {heads});
    normalizer.sinks = DenseView(args.Floats("sinks", *sinks), std::array{heads});
  }
  return normalizer;
}

}  // namespace headlens
