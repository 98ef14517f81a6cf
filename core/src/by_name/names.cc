// SPDX-License-Identifier: Apache-2.0
/// Prints what the rules, layers, metrics, operations and analyses list of themselves. Nothing is described here that
/// has a place of its own: this file only says which options go together.
#include "headlens/names.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/positions/bias_table.h"
#include "attention/settings.h"
#include "attention/stages.h"
#include "base/error_codes.h"
#include "by_name/analyses/call.h"
#include "by_name/call_options.h"
#include "by_name/color_fields.h"
#include "by_name/model_fields.h"
#include "by_name/operations/embedding.h"
#include "by_name/operations/registry.h"
#include "headlens/conventions.h"
#include "headlens/folder.h"
#include "headlens/head_finder.h"
#include "headlens/metrics.h"
#include "headlens/model.h"
#include "layers/fields.h"

namespace headlens {
namespace {

using json = nlohmann::ordered_json;

std::string_view NameOf(FieldType type) {
  switch (type) {
    case FieldType::kFlag:
      return "flag";
    case FieldType::kCount:
      return "count";
    case FieldType::kNumber:
    case FieldType::kSingle:
      return "number";
    case FieldType::kChoice:
      return "choice";
    case FieldType::kName:
      return "name";
    case FieldType::kNames:
      return "names";
    case FieldType::kPair:
      return "pair";
    case FieldType::kBooleans:
      return "booleans";
    case FieldType::kIntegers:
      return "integers";
    case FieldType::kLengths:
      return "lengths";
    case FieldType::kFloats:
    case FieldType::kTextFloats:
      return "floats";
    case FieldType::kBooleanList:
      return "boolean_list";
    case FieldType::kIntegerList:
      return "integer_list";
    case FieldType::kBooleanCells:
    case FieldType::kFloatCells:
      return "cells";
  }
  return "";
}

/// The value that an option has when it is not given, read from an owner as it is made. It is absent when callers could
/// not give that value, such as a 0 that stands for another option's value.
json DefaultOf(const AnyField& field, const void* owner) {
  const std::optional<double> value = field.get ? field.get(owner) : std::nullopt;
  if (!value) return nullptr;
  if (field.type == FieldType::kFlag) return *value != 0.0;
  if (field.type == FieldType::kCount) {
    return *value < static_cast<double>(field.least) ? json(nullptr) : json(static_cast<Index>(*value));
  }
  if (field.type == FieldType::kSingle) {  // the shortest text that gives the 32-bit number again
    char text[32];
    return json::parse(text, std::to_chars(text, std::end(text), static_cast<float>(*value)).ptr);
  }
  if (field.type != FieldType::kChoice) return *value;
  for (const Choice& choice : field.choices)
    if (choice.value == static_cast<int>(*value)) return choice.name;
  return nullptr;
}

json Described(const AnyField& field, const void* owner) {
  json all = {{"name", field.name}, {"type", NameOf(field.type)}, {"doc", field.doc.text()}};
  if (!field.dims.empty()) all["dims"] = field.dims;
  if (!field.also.empty()) all["also"] = field.also;
  if (field.type == FieldType::kCount) all["least"] = field.least;
  if (field.required) all["required"] = true;
  if (!field.needs.empty()) all["needs"] = field.needs;
  for (const Choice& choice : field.choices) {
    all["choices"].push_back(choice.name);
    if (!choice.doc.text().empty()) all["choice_docs"][std::string(choice.name)] = choice.doc.text();
  }
  if (const json value = DefaultOf(field, owner); !value.is_null()) all["default"] = value;
  return all;
}

/// Options that stand together in an interface of other languages.
class Group {
 public:
  Group(std::string_view name, std::string_view doc) : described_({{"name", name}, {"doc", doc}}) {
    described_["fields"] = json::array();
  }

  template <class Owner>
  Group& Add(std::span<const Field<Owner>> fields) {
    const Owner owner{};
    for (const Field<Owner>& field : fields) Add(field, &owner);
    return *this;
  }
  /// Options of one name but several types of tensors, such as a mask of booleans or floats, are one option.
  void Add(const AnyField& field, const void* owner) {
    const bool known = std::any_of(described_["fields"].begin(), described_["fields"].end(),
                                   [&](const json& other) { return other["name"] == field.name; });
    if (!known) described_["fields"].push_back(Described(field, owner));
  }
  /// The group has all options of others, too.
  Group& Extends(std::vector<std::string_view> groups) {
    described_["extends"] = groups;
    return *this;
  }
  /// It takes over only these of the group that it extends.
  Group& Only(std::vector<std::string_view> fields) {
    described_["only"] = fields;
    return *this;
  }
  /// It has other names for some: pairs of the name there and here. One that has several names here has all of them.
  Group& Renames(std::vector<Renames> renames) {
    described_["renames"] = json::array();
    for (const headlens::Renames& some : renames)
      for (const auto& [there, here] : some) described_["renames"].push_back({there, here});
    return *this;
  }

  const json& described() const { return described_; }

 private:
  json described_;
};

template <class Rules>
Group& AddRules(Group& group, const Rules& rules) {
  for (const auto* rule : rules) group.Add(rule->fields);
  return group;
}

json AttentionGroups() {
  Group masks("mask_options",
              "Masks, which say what keys a query may look at. A key is hidden when any mask hides it, with the "
              "exceptions that are named below. S includes past keys. When inputs have no batch, B is 1: layers then "
              "take tensors that are [B,S] or [B,T] here as [S] and [T] (except `valid_lens`), "
              "`scaled_dot_product_attention` takes them as [1,S] and [1,T], and both take [B] as [1].");
  AddRules(masks, MaskRules());
  Group normalizers("normalizer_options",
                    "Options of the normaliser, the function that turns the masked scores of a row into its weights.");
  AddRules(normalizers.Add(NormalizerFields()), NormalizerRules()).Add(MaskedRowFields());
  Group positions("position_options",
                  "Options for positions: biases that are added to the scores, and rotation of queries and keys.");
  AddRules(positions, BiasRules()).Add(RotaryFields());
  Group attention("attention_options", "Options of every attention call. Absent options have PyTorch's defaults.");
  attention.Extends({"mask_options", "normalizer_options", "position_options"})
      .Add(WeightFields())
      .Add(CallFields())
      .Add(ScoreFields())
      .Add(SeedFields())
      .Add(HeadMaskFields());
  Group function("scaled_dot_product_attention_options", "");
  function.Extends({"attention_options"}).Add(DropoutFields()).Add(FunctionFields());
  Group maps("attention_maps_options",
             "The options of maps of given queries and keys: those of `scaled_dot_product_attention` that decide its "
             "weights. Inputs without a batch have B = 1.");
  maps.Extends({"mask_options", "normalizer_options", "position_options"})
      .Add(WeightFields())
      .Add(ScoreFields())
      .Add(FunctionFields());
  return {masks.described(),     normalizers.described(), positions.described(),
          attention.described(), function.described(),    maps.described()};
}

json LayerGroups() {
  Group multihead("multihead_attention_options", "The options of a multi-head attention layer.");
  multihead.Add(HeadsFields()).Add(MultiheadFields()).Add(LayerFields()).Add(DropoutFields());
  Group transformer("transformer_layer_options",
                    "The options of layers like nn.TransformerEncoderLayer and nn.TransformerDecoderLayer. Their "
                    "dropout is only that on the attention weights.");
  transformer.Extends({"multihead_attention_options"})
      .Only({"embed_dim", "num_heads", "num_kv_heads", "bias", "batch_first", "dropout_p"})
      .Add(TransformerFields());
  Group encoder("encoder_layer_options",
                "The options of a call of an encoder layer. It returns weights only with `need_weights`.");
  encoder.Extends({"attention_options"}).Renames({EncoderNames()});
  Group decoder("decoder_layer_options",
                "The options of a call of a decoder layer. Those that turn scores into weights (`normalizer` with its "
                "options, `scale`, `softcap`, `fully_masked`, `masked_nan`, `conventions`, …) and `causal_alignment` "
                "apply to both attentions. The memory has its own masks `memory_mask`, `memory_key_padding_mask` and "
                "`memory_is_causal`; all other masks, positions, `head_mask` and past keys apply to self-attention "
                "only. It returns weights only with `need_weights`.");
  decoder.Extends({"attention_options"}).Renames({DecoderNames(), MemoryNames()});
  Group embedding("embedding_options", "The options of an embedding.");
  embedding.Add(EmbeddingFields());
  Group embedding_call("embedding_call_options", "The options of a call of an embedding.");
  embedding_call.Add(EmbeddingCallFields());
  return {multihead.described(), transformer.described(), encoder.described(),
          decoder.described(),   embedding.described(),   embedding_call.described()};
}

/// The options that analyses share, and those of each.
json AnalysisGroups() {
  Group masks(
      "map_masks",
      "Options that say which cells of a map [T,S] count. Padded and fully masked rows may hold anything, even NaN.");
  Group context("map_context",
                "Facts about a map besides its weights [T,S]. A metric that needs a missing fact has no value.");
  context.Extends({"map_masks"});
  json own = json::array();
  for (const AnalysisKind* kind : AnalysisKinds()) {
    Group options(kind->options, kind->options_doc.text());
    const auto add = [&](Part part, std::span<const AnyField> fields, const void* owner) {
      if (part == Part::kMask) options.Extends({"map_masks"});
      if (part == Part::kContext) options.Extends({"map_context"});
      for (const AnyField& field : fields) {
        if (part == Part::kMask) masks.Add(field, owner);
        if (part == Part::kContext) context.Add(field, owner);
        if (part == Part::kOption) options.Add(field, owner);
      }
    };
    kind->ask(add, nullptr);
    const auto is_same = [&](const json& other) { return other["name"] == kind->options; };
    const bool has_own = !kind->options.empty() && kind->options != "map_masks";
    if (has_own && std::none_of(own.begin(), own.end(), is_same)) own.push_back(options.described());
  }
  own.insert(own.begin(), {masks.described(), context.described()});
  return own;
}

json ColorGroups() {
  Group colorbar("colorbar_options", "");
  colorbar.Add(ColorbarFields());
  Group pixels("pixels_options", "The options for a model's map. The model knows itself whether it is causal.");
  pixels.Extends({"colorbar_options"}).Add(RangeFields()).Add(PartFields());
  Group colors("color_options", "");
  colors.Extends({"colorbar_options"}).Add(RangeFields()).Add(PictureFields());
  return {colorbar.described(), pixels.described(), colors.described()};
}

json ExplanationGroups() {
  Group sources("sources_options", "The head whose queries, keys and outputs are explained over a whole text.");
  sources.Add(HeadFields()).Add(PartFields());
  Group output("explain_output_options", "The head and the query whose output is explained.");
  output.Add(HeadFields()).Add(QueryFields()).Add(PartFields());
  Group explain("explain_options", "The score, or the row of scores, that is explained.");
  explain.Add(HeadFields()).Add(QueryFields()).Add(KeyFields()).Add(PartFields());
  Group predictions("predictions_options", "");
  predictions.Add(PositionFields()).Add(TopFields()).Add(LensFields());
  Group written("written_options", "");
  written.Add(HeadFields()).Add(PositionFields()).Add(TopFields()).Add(StepPartFields());
  Group contributions("contributions_options", "");
  contributions.Add(PositionFields()).Add(ContributionFields());
  Group patch("patch_options", "The head whose outputs are taken from a run.");
  patch.Add(HeadFields()).Add(PatchFields()).Add(PartFields());
  Group paths("paths_options", "");
  paths.Add(PathFields());
  Group rows("difference_map_options", "");
  rows.Add(RowFields()).Add(PartFields());
  Group changes("prediction_changes_options", "");
  changes.Add(PairFields()).Add(TopFields());
  return {sources.described(), output.described(),        explain.described(), predictions.described(),
          written.described(), contributions.described(), patch.described(),   paths.described(),
          rows.described(),    changes.described()};
}

json ModelGroups() {
  Group heads("head_changes_options",
              "Changes of how all heads compute, or of some of them, which hold for any input.");
  AddRules(heads.Add(HeadFactorFields()).Add(NormalizerFields()), NormalizerRules());
  Group kept("kept_options", "");
  kept.Add(KeptFields());
  Group decoding("decoding_options", "");
  decoding.Extends({"kept_options", "head_changes_options"});
  Group cache("cache_options", "");
  cache.Extends({"kept_options"}).Add(CacheFields());
  Group attend("attend_options", "");
  attend.Extends({"head_changes_options"}).Add(TokenFields()).Add(AttendFields());
  Group logits("logits_options", "");
  logits.Add(RowFields()).Add(LogitFields()).Add(StepPartFields());
  Group map("map_options", "");
  map.Add(RowFields()).Add(MapFields()).Add(PartFields());
  Group summaries("row_summaries_options", "");
  summaries.Add(RowFields()).Add(PartFields());
  Group overview("overview_options", "");
  overview.Add(OverviewFields()).Add(PartFields());
  Group step("step_map_options", "The attention that is shown of one step.");
  step.Add(StepPartFields());
  Group vectors("vectors_options", "The attention whose queries, keys or values are given.");
  vectors.Add(PartFields());
  Group rank("rank_options", "");
  rank.Add(RankFields());
  json all = {heads.described(),    kept.described(),   decoding.described(), cache.described(),
              attend.described(),   logits.described(), map.described(),      summaries.described(),
              overview.described(), rank.described(),   step.described(),     vectors.described()};
  for (json& group : ExplanationGroups()) all.push_back(std::move(group));
  return all;
}

/// Each with its arguments in their order, and the name of its options.
json DescribedAnalyses() {
  json all = json::array();
  for (const AnalysisKind* kind : AnalysisKinds()) {
    json arguments = json::array(), parameters = json::array();
    const auto add = [&](Part part, std::span<const AnyField> fields, const void* owner) {
      for (const AnyField& field : fields) {
        if (part == Part::kArgument) arguments.push_back(Described(field, owner));
        if (part == Part::kParameter) parameters.push_back(Described(field, owner));
      }
    };
    kind->ask(add, nullptr);
    json described = {{"name", kind->name}, {"doc", kind->doc.text()}, {"arguments", arguments}};
    if (!parameters.empty()) described["parameters"] = parameters;
    if (!kind->options.empty()) described["options"] = kind->options;
    all.push_back(std::move(described));
  }
  return all;
}

json DescribedStages() {
  json all = json::array();
  for (const Stage& stage : Stages()) {
    all.push_back(
        {{"name", stage.name}, {"dims", stage.dims}, {"doc", stage.doc.text()}, {"of_memory", stage.of_memory}});
  }
  return all;
}

template <class Metrics>
json DescribedMetrics(const Metrics& metrics) {
  json all = json::array();
  for (const auto& metric : metrics) {
    all.push_back({{"name", metric.name}, {"formula", metric.formula}, {"source", metric.source}});
  }
  return all;
}

json DescribedOperations() {
  json all = json::array();
  for (const OperationKind& kind : OperationKinds()) {
    all.push_back({{"name", kind.name}, {"inputs", kind.inputs}, {"parameters", kind.parameters}});
  }
  return all;
}

json DescribedFamilies() {
  json all = json::array();
  for (const ModelFamily& family : ModelFamilies())
    all.push_back({{"name", family.name}, {"model_types", family.model_types}});
  return all;
}

json DescribedCodes() {
  json all = json::array();
  for (const Choice& code : ErrorCodes()) all.push_back({{"name", code.name}, {"doc", code.doc.text()}});
  return all;
}

}  // namespace

std::string DescribeNames() {
  json groups = AttentionGroups();
  for (const json& more : {LayerGroups(), AnalysisGroups(), ColorGroups(), ModelGroups()})
    for (const json& group : more) groups.push_back(group);
  const json all = {{"operations", DescribedOperations()},
                    {"analyses", DescribedAnalyses()},
                    {"options", groups},
                    {"stages", DescribedStages()},
                    {"metrics", DescribedMetrics(Metrics())},
                    {"model_metrics", DescribedMetrics(ModelMetrics())},
                    {"model_families", DescribedFamilies()},
                    {"error_codes", DescribedCodes()},
                    {"model_files",
                     {{"config", kConfigFile},
                      {"tokenizer", kTokenizerFile},
                      {"processor", kProcessorFile},
                      {"weights", kWeightsFile},
                      {"index", kIndexFile}}}};
  return all.dump(2);
}

}  // namespace headlens
