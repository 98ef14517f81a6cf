// SPDX-License-Identifier: Apache-2.0
#include "by_name/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlens/conventions.h"

namespace headlens {
namespace {

using nlohmann::json;

constexpr std::string_view kStages[] = {"q",
                                        "k",
                                        "v",
                                        "scores",
                                        "scaled_scores",
                                        "capped_scores",
                                        "biased_scores",
                                        "masked_scores",
                                        "weights",
                                        "dropout_mask",
                                        "dropped_weights",
                                        "lse",
                                        "head_outputs",
                                        "head_contributions",
                                        "present_key",
                                        "present_value"};

std::optional<Rotary> ReadRotary(OptionReader& reader) {
  Rotary rotary;
  rotary.pairs = reader.Choice("rotary", RotaryPairs::kHalf,
                               {{"half", RotaryPairs::kHalf}, {"interleaved", RotaryPairs::kInterleaved}});
  rotary.dim = reader.Count("rotary_dim", 0, 2);
  rotary.base = reader.Number("rotary_base", 10000.0);
  rotary.scale = reader.Number("rotary_scale", 1.0);
  if (reader.Has("rotary")) return rotary;
  for (const char* name : {"rotary_dim", "rotary_base", "rotary_scale"}) {
    if (reader.Has(name))
      throw Error(ErrorCode::kOption, std::string(name) + " needs rotary, \"half\" or \"interleaved\"");
  }
  return std::nullopt;
}

bool IsStage(std::string_view name) {
  return std::find(std::begin(kStages), std::end(kStages), name) != std::end(kStages);
}

void ReadStages(OptionReader& reader, bool with_memory, CommonOptions& options) {
  constexpr std::string_view kMemory = "memory_", kPresent = "present_";
  for (const std::string& stage : reader.Names("stages")) {
    const bool of_memory = with_memory && stage.starts_with(kMemory);
    const std::string name = of_memory ? stage.substr(kMemory.size()) : stage;
    if (!IsStage(name) || (of_memory && name.starts_with(kPresent))) {
      throw Error(ErrorCode::kOption,
                  "stages names " + Quoted(stage) + ", expected some of: " + Joined(kStages) +
                      (with_memory ? "; but for the present_ ones also with memory_ before them" : ""));
    }
    (of_memory ? options.memory_stages : options.stages).insert(name);
  }
}

/// The stage and the average would have the same name.
void ExpectNoHeadsWeights(const CommonOptions& options) {
  const bool of_memory = options.memory_stages.contains("weights");
  if (!of_memory && !options.Wants("weights")) return;
  throw Error(ErrorCode::kOption, std::string("average_attn_weights is true, but stages names ") +
                                      (of_memory ? "memory_weights" : "weights") +
                                      ", which are those of each head: leave one out");
}

constexpr Index kUnset = 0;

/// What the attention of every layer is told.
MultiheadConfig ReadHeads(OptionReader& reader) {
  MultiheadConfig config;
  config.embed_dim = reader.Count("embed_dim", kUnset, 1);
  config.num_heads = reader.Count("num_heads", kUnset, 1);
  config.num_kv_heads = reader.Count("num_kv_heads", kUnset, 1);
  config.bias = reader.Flag("bias", true);
  for (const auto& [name, value] :
       {std::pair("embed_dim", config.embed_dim), std::pair("num_heads", config.num_heads)}) {
    if (value == kUnset)
      throw Error(ErrorCode::kOption, std::string(name) + " is missing, expected a whole number, at least 1");
  }
  Validate(config);
  return config;
}

}  // namespace

const json* OptionReader::Find(const char* name) {
  known_.push_back(name);
  const auto it = options_.find(name);
  return it == options_.end() || it->is_null() ? nullptr : &*it;
}

void OptionReader::Refuse(const char* name, const std::string& expected) const {
  throw Error(ErrorCode::kOption, std::string(name) + " is " + Shown(options_.at(name)) + ", expected " + expected);
}

bool OptionReader::Flag(const char* name, bool fallback) {
  const json* value = Find(name);
  if (!value) return fallback;
  if (!value->is_boolean()) Refuse(name, "true or false");
  return value->get<bool>();
}

std::optional<double> OptionReader::Number(const char* name) {
  const json* value = Find(name);
  if (!value) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) Refuse(name, "a finite number");
  return value->get<double>();
}

double OptionReader::Number(const char* name, double fallback) { return Number(name).value_or(fallback); }

std::optional<float> OptionReader::Single(const char* name) {
  const std::optional<double> value = Number(name);
  if (!value) return std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  if (std::abs(*value) > kLargest || (*value != 0.0 && std::abs(*value) < kSmallest)) {
    Refuse(name, "a number that a 32-bit float can hold");
  }
  return static_cast<float>(*value);
}

float OptionReader::Single(const char* name, float fallback) { return Single(name).value_or(fallback); }

Index OptionReader::Count(const char* name, Index fallback, Index least) {
  constexpr Index kMost = Index{1} << 53;  // what a JSON number holds exactly
  const json* value = Find(name);
  if (!value) return fallback;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{kMost}) {
    Refuse(name, "a whole number, at most " + std::to_string(kMost));
  }
  if (!value->is_number_integer() || value->get<Index>() < least) {
    Refuse(name, "a whole number, at least " + std::to_string(least));
  }
  return value->get<Index>();
}

std::string OptionReader::Text(const char* name, const char* fallback) {
  const json* value = Find(name);
  if (!value) return fallback;
  if (!value->is_string()) Refuse(name, "a name");
  return value->get<std::string>();
}

std::vector<std::string> OptionReader::Names(const char* name) {
  const json* value = Find(name);
  if (!value) return {};
  std::vector<std::string> names;
  if (!value->is_array()) Refuse(name, "a list of names");
  for (const json& item : *value) {
    if (!item.is_string()) Refuse(name, "a list of names");
    names.push_back(item.get<std::string>());
  }
  return names;
}

void OptionReader::RejectUnknown() const {
  for (const auto& [name, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::set<std::string_view> known(known_.begin(), known_.end());
    throw Error(ErrorCode::kOption, "unknown option " + Quoted(name) + "; known here: " + Joined(known));
  }
}

CommonOptions ReadCommon(OptionReader& reader, bool mask_keeps, bool need_weights, bool with_memory) {
  CommonOptions options;
  const Conventions base =
      reader.Choice("conventions", FindConventions(mask_keeps ? "torch-sdpa" : "torch-mha"), AllConventions());
  const bool named = reader.Has("conventions");
  options.mask_keeps = reader.Choice("mask_true", base.mask_keeps, {{"keep", true}, {"ignore", false}});
  options.causal_alignment =
      reader.Choice("causal_alignment", base.causal_alignment,
                    {{"top_left", CausalAlignment::kTopLeft}, {"bottom_right", CausalAlignment::kBottomRight}});
  options.fully_masked =
      reader.Choice("fully_masked", named ? base.fully_masked : FullyMasked::kZero,
                    {{"zero", FullyMasked::kZero}, {"nan", FullyMasked::kNan}, {"uniform", FullyMasked::kUniform}});
  options.masked_nan = reader.Choice("masked_nan", named ? base.masked_nan : MaskedNan::kBlocked,
                                     {{"blocked", MaskedNan::kBlocked}, {"spreads", MaskedNan::kSpreads}});
  options.gqa_order = reader.Choice("gqa_order", base.gqa_order,
                                    {{"block", GqaOrder::kBlock}, {"interleaved", GqaOrder::kInterleaved}});
  options.softcap_order =
      reader.Choice("softcap_order", base.softcap_order,
                    {{"before_bias", SoftcapOrder::kBeforeBias}, {"after_bias", SoftcapOrder::kAfterBias}});
  options.softcap = reader.Single("softcap", 0.0f);
  options.scale = reader.Single("scale");
  options.dropout_p = reader.Number("dropout_p", 0.0);
  options.seed = static_cast<std::uint64_t>(reader.Count("seed", 0, 0));
  options.need_weights = reader.Flag("need_weights", need_weights);
  options.average_weights = reader.Flag("average_attn_weights", true);
  options.backend = &reader.Backend();
  options.rotary = ReadRotary(reader);
  ReadStages(reader, with_memory, options);
  if (reader.Flag("average_attn_weights", false)) ExpectNoHeadsWeights(options);
  return options;
}

MultiheadConfig ReadMultihead(OptionReader& reader) {
  MultiheadConfig config = ReadHeads(reader);
  config.kdim = reader.Count("kdim", kUnset, 1);
  config.vdim = reader.Count("vdim", kUnset, 1);
  config.add_bias_kv = reader.Flag("add_bias_kv", false);
  config.add_zero_attn = reader.Flag("add_zero_attn", false);
  return config;
}

TransformerLayerConfig ReadTransformerLayer(OptionReader& reader, bool cross_attention) {
  TransformerLayerConfig config;
  config.attention = ReadHeads(reader);
  config.dim_feedforward = reader.Count("dim_feedforward", 2048, 1);
  config.activation = reader.Choice("activation", Activation::kRelu,
                                    {{"relu", Activation::kRelu},
                                     {"gelu", Activation::kGelu},
                                     {"gelu_tanh", Activation::kGeluTanh},
                                     {"swiglu", Activation::kSwiGlu}});
  config.layer_norm_eps = reader.Single("layer_norm_eps", 1e-5f);
  if (config.layer_norm_eps < 0.0f) {
    throw Error(ErrorCode::kValue,
                "layer_norm_eps is " + std::to_string(config.layer_norm_eps) + ", expected 0 or a positive number");
  }
  config.norm = reader.Choice("norm", NormKind::kLayerNorm,
                              {{"layer_norm", NormKind::kLayerNorm}, {"rms_norm", NormKind::kRmsNorm}});
  config.norm_first = reader.Flag("norm_first", false);
  config.cross_attention = cross_attention;
  return config;
}

}  // namespace headlens
