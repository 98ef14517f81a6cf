// SPDX-License-Identifier: Apache-2.0
#include "cli/run_changes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "attention/normalizers/registry.h"
#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"

namespace headlens::cli {
namespace {

const NormalizerRule& RuleOf(const ChangeOptions& options) {
  for (const NormalizerRule* rule : NormalizerRules())
    if (rule->name == options.normalizer) return *rule;
  return FindNormalizer(Normalizer().kind);
}

std::vector<CLI::Option*> AddNormalizerOptions(CLI::App& command, ChangeOptions& options) {
  std::vector<std::string> names;
  for (const NormalizerRule* rule : NormalizerRules()) names.emplace_back(rule->name);
  return {
      command.add_option("--temperature", options.temperature, "The scores of every head are divided by this number")
          ->type_name("X"),
      command.add_option("--normalizer", options.normalizer, "What turns the scores of every head into weights")
          ->check(CLI::IsMember(names))
          ->type_name("NAME"),
      command.add_option("--top-k", options.top_k, "With --normalizer top_k: the scores in a row that keep a weight")
          ->type_name("N"),
      command.add_option("--sigmoid-bias", options.sigmoid_bias, "With --normalizer sigmoid: is added to the scores")
          ->type_name("X"),
  };
}

std::vector<CLI::Option*> AddReplacementOptions(CLI::App& command, ChangeOptions& options) {
  CLI::Option* tokens = command.add_option("--replace-token", options.replaced_tokens,
                                           "The value vectors of the tokens at these positions are replaced, as 1,2");
  CLI::Option* replacement = command.add_option(
      "--replacement", options.replacement, "With --replace-token: zero (the default), or mean, that over all tokens");
  CLI::Option* layer =
      command.add_option("--replace-layer", options.replaced_layer, "With --replace-token: only in this layer");
  tokens->type_name("POSITIONS");
  replacement->needs(tokens)->check(CLI::IsMember({"zero", "mean"}))->type_name("KIND");
  layer->needs(tokens)->type_name("N");
  return {tokens, replacement, layer};
}

std::vector<CLI::Option*> AddPatchOptions(CLI::App& command, ChangeOptions& options) {
  CLI::Option* patch =
      command.add_option("--patch", options.patches,
                         "What this head gives at these positions is taken from a run of --from-text, as 3.7@4,5");
  CLI::Option* text = command.add_option("--from-text", options.from_text, "With --patch: the other text");
  patch->type_name("LAYER.HEAD@POSITIONS")->type_size(1)->allow_extra_args(false)->needs(text);
  text->type_name("TEXT")->needs(patch);
  return {patch, text};
}

}  // namespace

bool ChangeOptions::AreGiven() const {
  return !ablated.empty() || temperature || !normalizer.empty() || !forbidden_diagonals.empty() || replaced_tokens ||
         !patches.empty();
}

std::vector<CLI::Option*> AddChangeOptions(CLI::App& command, ChangeOptions& options) {
  std::vector<CLI::Option*> all = {
      command.add_option("--ablate", options.ablated, "This head gives zeros, as 3.7; once for each head")
          ->type_name("LAYER.HEAD")
          ->type_size(1)
          ->allow_extra_args(false),
      command
          .add_option("--forbid-diagonal", options.forbidden_diagonals,
                      "No query looks at the key this many tokens before it (or after it, if negative); once for each")
          ->type_name("N")
          ->type_size(1)
          ->allow_extra_args(false),
  };
  for (const auto add : {AddNormalizerOptions, AddReplacementOptions, AddPatchOptions})
    for (CLI::Option* option : add(command, options)) all.push_back(option);
  for (CLI::Option* option : all) option->group("Changes of the run");
  return all;
}

namespace {

/// Parses LAYER.HEAD. Returns nothing when it is something else, or when the model has no such head.
std::optional<HeadNumber> HeadIn(std::string_view text, const ModelInfo& info) {
  HeadNumber number;
  const auto [dot, no_layer] = std::from_chars(text.begin(), text.end(), number.layer);
  if (no_layer != std::errc{} || dot == text.end() || *dot != '.') return std::nullopt;
  const auto [end, no_head] = std::from_chars(dot + 1, text.end(), number.head);
  const bool exists = number.layer >= 0 && number.layer < info.layers && number.head >= 0 && number.head < info.heads;
  return no_head == std::errc{} && end == text.end() && exists ? std::optional(number) : std::nullopt;
}

Phrase KnownHeads(const ModelInfo& info) {
  return {"a layer from 0 to ", info.layers - 1, " and a head from 0 to ", info.heads - 1};
}

/// Parses positions of tokens below `end`, such as 4,5.
std::vector<std::int32_t> ParsePositions(const char* option, std::string_view text, Index end) {
  std::vector<std::int32_t> positions = ParseNumbers(option, text, "positions of tokens, as 1,2,3");
  for (const std::int32_t position : positions) ExpectBelow(option, position, end);
  return positions;
}

Normalizer NormalizerOf(const ChangeOptions& options, Index heads) {
  const NormalizerRule& rule = RuleOf(options);
  Normalizer normalizer;
  normalizer.kind = rule.kind;
  const auto set = [&](const char* option, const auto& given, NormalizerKind kind, auto& to) {
    if (!given) return;
    const std::string needed(FindNormalizer(kind).name);
    if (kind != rule.kind) throw InputError(NeedsError(ErrorCode::kOption, option, {"--normalizer ", needed}));
    to = *given;
  };
  if (rule.kind == NormalizerKind::kTopK && !options.top_k)
    throw InputError(NeedsError(ErrorCode::kOption, "--normalizer top_k", "--top-k"));
  set("--top-k", options.top_k, NormalizerKind::kTopK, normalizer.top_k);
  set("--sigmoid-bias", options.sigmoid_bias, NormalizerKind::kSigmoid, normalizer.sigmoid_bias);
  normalizer.temperature = options.temperature.value_or(normalizer.temperature);
  try {
    Validate(normalizer, heads);
  } catch (const Error& error) {
    constexpr std::pair<std::string_view, std::string_view> kOptions[] = {

        {"temperature", "--temperature"}, {"top_k", "--top-k"}, {"sigmoid_bias", "--sigmoid-bias"}};
    throw InputError(error.Renamed(kOptions));
  }
  return normalizer;
}

}  // namespace

void ExpectBelow(const char* option, Index value, Index end) {
  if (value < 0 || value >= end) throw InputError(ValueError(option, value, {"0 to ", end - 1}));
}

HeadNumber ParseHead(const char* option, const std::string& text, const ModelInfo& info) {
  const std::optional<HeadNumber> number = HeadIn(text, info);
  if (!number) throw InputError(ValueError(option, Quoted(text), {KnownHeads(info), ", as 0.1"}));
  return *number;
}

RunChanges::RunChanges(const ChangeOptions& options, const std::string& model, const ModelInfo& info, Index length) {
  options_.normalizer = NormalizerOf(options, info.heads);
  diagonals_ = options.forbidden_diagonals;
  if (!options.ablated.empty()) head_mask_ = Tensor({info.layers, info.heads});
  std::fill(head_mask_.values().begin(), head_mask_.values().end(), 1.0f);
  for (const std::string& head : options.ablated) {
    const HeadNumber number = ParseHead("--ablate", head, info);
    head_mask_.view<2>()(number.layer, number.head) = 0.0f;
  }
  if (options.replaced_tokens) replaced_tokens_ = ParsePositions("--replace-token", *options.replaced_tokens, length);
  if (options.replacement == "mean") options_.replacement = TokenReplacement::kMean;
  if (options.replaced_layer) {
    ExpectBelow("--replace-layer", *options.replaced_layer, info.layers);
    options_.replaced_layer = *options.replaced_layer;
  }
  ReadPatches(options, model, info, length);
}

void RunChanges::ReadPatches(const ChangeOptions& options, const std::string& model, const ModelInfo& info,
                             Index length) {
  if (options.patches.empty()) return;
  if (info.image_size > 0)
    throw InputError(OptionError("--from-text", Quoted(*options.from_text), "none: the model reads pictures"));
  other_ = Tokenize(model, {options.from_text, ""}).ids;
  const auto others = static_cast<Index>(other_.size());
  for (const std::string& patch : options.patches) {
    const std::size_t at = patch.find('@');
    const std::optional<HeadNumber> head = HeadIn(patch.substr(0, at), info);
    if (!head || at == patch.npos) {
      throw InputError(ValueError("--patch", Quoted(patch), {KnownHeads(info), " with positions, as 0.1@4,5"}));
    }
    for (const std::int32_t position : ParsePositions("--patch", std::string_view(patch).substr(at + 1), length)) {
      if (position >= others) {
        throw InputError(Wrong(ErrorCode::kValue, "--from-text", "has", {others, " tokens"},
                               {"at least ", position + 1, ", as --patch needs"}));
      }
      for (const Index number : {head->layer, head->head, Index{position}})
        patch_places_.push_back(static_cast<std::int32_t>(number));
    }
  }
}

void RunChanges::TakeOutputs(const Model& model) {
  if (patch_places_.empty()) return;
  const auto count = static_cast<Index>(patch_places_.size() / 3);
  const Index width = model.info().head_dim;
  patch_outputs_ = Tensor({count, width});
  AttendOptions keep;
  keep.keep_parts = true;
  Blaming("--from-text", [&] {
    const ModelAttention other = model.Attend({.ids = other_}, keep);
    for (Index n = 0; n < count; ++n) {
      const std::int32_t* place = &patch_places_[static_cast<std::size_t>(3 * n)];
      const View<const float, 2> outputs = other.HeadOutputs(place[0]).view<2>();
      std::copy_n(outputs.at(place[2], place[1] * width), width, patch_outputs_.view<2>().at(n));
    }
  });
}

AttendOptions RunChanges::AddedTo(AttendOptions options) const {
  options.normalizer = options_.normalizer;
  options.replacement = options_.replacement;
  options.replaced_layer = options_.replaced_layer;
  if (head_mask_.size() > 0) options.head_mask = head_mask_.view<2>();
  options.forbidden_diagonals = diagonals_;
  options.replaced_tokens = replaced_tokens_;
  if (patch_places_.empty()) return options;
  options.patches.places =
      DenseView<const std::int32_t, 2>(patch_places_.data(), {static_cast<Index>(patch_places_.size() / 3), 3});
  options.patches.outputs = patch_outputs_.view<2>();
  return options;
}

}  // namespace headlens::cli
