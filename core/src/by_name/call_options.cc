// SPDX-License-Identifier: Apache-2.0
#include "by_name/call_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/positions/bias_table.h"
#include "attention/settings.h"
#include "attention/stages.h"
#include "base/words.h"
#include "layers/fields.h"

namespace headlens {
namespace {

bool IsStage(std::string_view name, bool of_memory) {
  return std::any_of(Stages().begin(), Stages().end(),
                     [&](const Stage& stage) { return stage.name == name && (!of_memory || stage.of_memory); });
}

void ReadStages(OptionReader& reader, bool with_memory, CallOptions& options) {
  constexpr std::string_view kMemory = "memory_";
  for (const std::string& stage : reader.Names("stages")) {
    const bool of_memory = with_memory && stage.starts_with(kMemory);
    const std::string name = of_memory ? stage.substr(kMemory.size()) : stage;
    if (!IsStage(name, of_memory)) {
      const std::string_view more = with_memory ? "; but for the present_ ones also with memory_ before them" : "";
      throw Wrong(ErrorCode::kOption, "`stages`", "names", Quoted(stage),
                  {"some of: ", JoinedNames(Stages(), &Stage::name), more});
    }
    (of_memory ? options.memory_stages : options.stages).insert(name);
  }
}

/// The stage and the average would have the same name.
void ExpectNoHeadsWeights(const CallOptions& options) {
  const bool of_memory = options.memory_stages.contains("weights");
  if (!of_memory && !options.Wants("weights")) return;
  throw Error(ErrorCode::kOption,
              {"`average_attn_weights` is true, but `stages` names ", of_memory ? "`memory_weights`" : "`weights`",
               ", which are those of each head: leave one out"});
}

/// The conventions that were named; without any, those of the call, but rows with no key get zeros, and no masked NaN
/// reaches anything.
Conventions ReadConventions(OptionReader& reader, std::string_view otherwise) {
  if (const std::optional<int> named = reader.OneOf("conventions", WeightFields()[0].choices)) {
    return AllConventions()[static_cast<std::size_t>(*named)].second;
  }
  Conventions conventions = FindConventions(otherwise);
  conventions.fully_masked = FullyMasked::kZero;
  conventions.masked_nan = MaskedNan::kBlocked;
  return conventions;
}

Mask ReadMask(FieldReader& reader, const Sizes& n, bool over_memory, Mask mask) {
  for (const MaskRule* rule : MaskRules()) {
    if (over_memory && !rule->any_input) continue;
    reader.Read(rule->fields, mask);
    if (rule->complete) rule->complete(mask, n.queries, n.keys);
  }
  return mask;
}

PositionBias ReadPositionBias(FieldReader& reader) {
  PositionBias bias;
  for (const BiasRule* rule : BiasRules()) reader.Read(rule->fields, bias);
  return bias;
}

}  // namespace

Normalizer ReadNormalizer(FieldReader& reader) {
  Normalizer normalizer;
  reader.Read(NormalizerFields(), normalizer);
  for (const NormalizerRule* rule : NormalizerRules()) {
    reader.Read(rule->fields, normalizer);
    for (const Field<Normalizer>& field : rule->fields) {
      if (rule->kind == normalizer.kind || !reader.Has(field)) continue;
      throw NeedsError(ErrorCode::kOption, Fragment::Name(field.name), {"`normalizer` ", Quoted(rule->name)});
    }
  }
  return normalizer;
}

std::span<const Field<CallOptions>> WeightFields() {
  static const auto kConventions = [] {
    std::vector<Choice> names;
    for (const auto& [name, conventions] : AllConventions()) names.emplace_back(name, static_cast<int>(names.size()));
    return names;
  }();
  static const std::array kFields = {
      field::Listed<CallOptions>(
          FieldType::kName, "conventions", "",
          "The library whose choices are the defaults where libraries disagree. Single options override them.",
          kConventions),
      field::Number<&CallOptions::scale>("scale", "The factor on q·kᵀ. Default 1/√d."),
      field::Listed<CallOptions>(FieldType::kName, "backend", "",
                                 "\"simd\" (default), or \"reference\", which computes in fp64.", kBackendNames),
  };
  return kFields;
}

std::span<const Field<CallOptions>> CallFields() {
  static constexpr Field<CallOptions> kFields[] = {
      field::Listed<CallOptions>(FieldType::kFloats, "past_key", "B,G,P,d",
                                 "Keys that come before those of this call, as the stage `present_key` returns them."),
      field::Listed<CallOptions>(FieldType::kFloats, "past_value", "B,G,P,dv", "The values of `past_key`."),
      field::Flag<&CallOptions::need_weights>(
          "need_weights",
          "Returns the weights. Default as in PyTorch: true for multi-head attention, false for everything else."),
      field::Flag<&CallOptions::average_weights>(
          "average_attn_weights",
          "Returns the mean of the weights over the heads, [B,T,S], instead of [B,H,T,S]. Default as in PyTorch: true "
          "for layers, false for `scaled_dot_product_attention`. The stage \"weights\" always has those of each head, "
          "and cannot be combined with true."),
      field::Listed<CallOptions>(
          FieldType::kNames, "stages", "",
          "Intermediate results to return, under their own names. Stages that are not named here cost nothing."),
  };
  return kFields;
}

std::span<const Field<CallOptions>> FunctionFields() {
  static constexpr Field<CallOptions> kFields[] = {
      field::Flag<&CallOptions::enable_gqa>("enable_gqa", "Allows fewer key/value heads than query heads."),
  };
  return kFields;
}

std::span<const Field<CallOptions>> LayerFields() {
  static constexpr Field<CallOptions> kFields[] = {
      field::Flag<&CallOptions::batch_first>("batch_first", "Tensors are [B,T,D] instead of [T,B,D], as in PyTorch."),
  };
  return kFields;
}

CallOptions ReadWeightOptions(OptionReader& reader, const CallDefaults& defaults) {
  CallOptions options;
  Choose(ReadConventions(reader, defaults.conventions), options.settings);
  FieldReader fields(reader);
  fields.Read(MaskedRowFields(), options.settings);
  fields.Read(ScoreFields(), options.settings);
  fields.Read(WeightFields(), options);
  fields.Read(defaults.own_fields(), options);
  options.backend = &reader.Backend();
  Rotary rotary;
  fields.Read(RotaryFields(), rotary);
  if (reader.Has("rotary")) options.rotary = rotary;
  return options;
}

CallOptions ReadCallOptions(OptionReader& reader, const CallDefaults& defaults, bool with_memory) {
  CallOptions options = ReadWeightOptions(reader, defaults);
  options.need_weights = defaults.need_weights;
  options.average_weights = defaults.average_weights;
  FieldReader fields(reader);
  fields.Read(SeedFields(), options.settings);
  fields.Read(DropoutFields(), options.settings);
  fields.Read(CallFields(), options);
  ReadStages(reader, with_memory, options);
  if (reader.Flag("average_attn_weights", false)) ExpectNoHeadsWeights(options);
  return options;
}

AttentionSettings ReadWeightSettings(FieldReader& reader, const CallOptions& options, const Sizes& n,
                                     bool over_memory) {
  AttentionSettings settings = options.settings;
  settings.mask = ReadMask(reader, n, over_memory, settings.mask);
  settings.normalizer = ReadNormalizer(reader);
  if (!over_memory) settings.position_bias = ReadPositionBias(reader);
  return settings;
}

AttentionSettings ReadSettings(OptionReader& reader, Arguments& args, const CallOptions& options, const Sizes& n,
                               Renames renames, bool over_memory) {
  FieldReader fields(reader, args, n, renames);
  AttentionSettings settings = ReadWeightSettings(fields, options, n, over_memory);
  if (!over_memory) fields.Read(HeadMaskFields(), settings);
  return settings;
}

MultiheadConfig ReadMultihead(OptionReader& reader) {
  MultiheadConfig config;
  FieldReader fields(reader);
  fields.Read(HeadsFields(), config);
  Validate(config);
  fields.Read(MultiheadFields(), config);
  return config;
}

TransformerLayerConfig ReadTransformerLayer(OptionReader& reader, bool cross_attention) {
  TransformerLayerConfig config;
  FieldReader fields(reader);
  fields.Read(HeadsFields(), config.attention);
  Validate(config.attention);
  fields.Read(TransformerFields(), config);
  if (config.layer_norm_eps < 0.0f) {
    throw ValueError("`layer_norm_eps`", double{config.layer_norm_eps}, "0 or a positive number");
  }
  config.cross_attention = cross_attention;
  return config;
}

}  // namespace headlens
