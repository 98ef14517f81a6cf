// SPDX-License-Identifier: Apache-2.0
/// Options as JSON: read by name, each checked, unknown ones refused.
#ifndef HEADLENS_SRC_BY_NAME_OPTIONS_H_
#define HEADLENS_SRC_BY_NAME_OPTIONS_H_

#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "files/json.h"
#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/positions.h"
#include "headlens/transformer.h"

namespace headlens {

/// Reads options one by one; what nobody asked for is unknown. Names are literals: they are kept.
class OptionReader {
 public:
  /// Borrows `backends`, of which the option `backend` names one.
  explicit OptionReader(nlohmann::json options, std::span<const headlens::Backend* const> backends = Backends())
      : options_(std::move(options)), backends_(backends) {}

  bool Flag(const char* name, bool fallback);
  double Number(const char* name, double fallback);
  std::optional<double> Number(const char* name);
  /// A number that is computed with in fp32: one that would become infinite or 0 there is refused.
  float Single(const char* name, float fallback);
  std::optional<float> Single(const char* name);
  /// A whole number from `least` on.
  Index Count(const char* name, Index fallback, Index least);
  std::string Text(const char* name, const char* fallback);
  std::vector<std::string> Names(const char* name);
  const headlens::Backend& Backend() { return FindBackend(Text("backend", "simd"), backends_); }
  bool Has(const char* name) { return Find(name) != nullptr; }

  template <class E>
  E Choice(const char* name, E fallback, std::initializer_list<std::pair<std::string_view, E>> choices) {
    return Choice(name, fallback, std::span(choices.begin(), choices.size()));
  }
  template <class E>
  E Choice(const char* name, E fallback, std::span<const std::pair<std::string_view, E>> choices) {
    const nlohmann::json* value = Find(name);
    if (!value) return fallback;
    for (const auto& [text, choice] : choices)
      if (*value == text) return choice;
    Refuse(name, "one of " + Joined(choices, [](const auto& choice) { return Quoted(choice.first); }));
  }

  /// Throws kOption naming the first option that was not read, and those that were.
  void RejectUnknown() const;

 private:
  const nlohmann::json* Find(const char* name);
  [[noreturn]] void Refuse(const char* name, const std::string& expected) const;

  nlohmann::json options_;
  std::span<const headlens::Backend* const> backends_;
  std::vector<std::string_view> known_;
};

/// The options that every operation shares.
struct CommonOptions {
  const Backend* backend = nullptr;
  bool mask_keeps = false;  ///< polarity of a boolean attn_mask
  CausalAlignment causal_alignment = CausalAlignment::kTopLeft;
  FullyMasked fully_masked = FullyMasked::kZero;
  MaskedNan masked_nan = MaskedNan::kBlocked;
  GqaOrder gqa_order = GqaOrder::kBlock;
  SoftcapOrder softcap_order = SoftcapOrder::kBeforeBias;
  float softcap = 0.0f;
  std::optional<float> scale;
  double dropout_p = 0.0;
  std::uint64_t seed = 0;
  bool need_weights = false;
  bool average_weights = true;
  std::optional<Rotary> rotary;
  std::set<std::string, std::less<>> stages;
  std::set<std::string, std::less<>> memory_stages;  ///< of a decoder layer's attention over the memory

  bool Wants(std::string_view stage) const { return stages.contains(stage); }
};

/// `with_memory`: stages may be of the attention over the memory, as "memory_scores".
CommonOptions ReadCommon(OptionReader& reader, bool mask_keeps, bool need_weights, bool with_memory = false);
MultiheadConfig ReadMultihead(OptionReader& reader);
TransformerLayerConfig ReadTransformerLayer(OptionReader& reader, bool cross_attention);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPTIONS_H_
