// SPDX-License-Identifier: Apache-2.0
#include "cli/map_options.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/words.h"
#include "cli/commands.h"

namespace headlens::cli {
namespace {

constexpr Index kMaxNumbers = 1 << 26;      // limit for all maps together: 256 MiB
constexpr Index kMaxPageNumbers = 1 << 24;  // the same for a page that a browser has to read: 64 MiB
constexpr Index kMaxPixels = 1 << 26;       // limit for a picture of pixels: 192 MiB
constexpr Index kMaxSide = 1 << 20;
constexpr Index kMapPixels = 200;       // approximate width of a map without --cell
constexpr Index kLargeMapPixels = 600;  // the same of a single map with the names of its tokens
constexpr Index kNamedCell = 12;        // cells that leave room for names

void AddInputs(CLI::App& command, MapOptions& options) {
  CLI::Option* model =
      command.add_option("--model", options.model,
                         "Folder as Hugging Face has it: config.json, model.safetensors or its shards, tokenizer.json");
  CLI::Option* weights = command.add_option(
      "--weights", options.weights,
      "Maps that were computed elsewhere, instead of a model: .npy of shape (T, S), (H, T, S) or (L, H, T, S), or "
      ".safetensors with a tensor for each layer");
  CLI::Option* tokens =
      command.add_option("--tokens", options.tokens,
                         "Ids of the tokens, as 1,2,3; with --weights the names of the queries, as The,cat,sat or as a "
                         "JSON list");
  CLI::Option* keys =
      command.add_option("--key-tokens", options.key_tokens, "With --weights: the names of keys that are other tokens");
  CLI::Option* file = command.add_option("--tokens-file", options.tokens_file,
                                         "With --weights: a file with the names, as in --tokens or as `headlens "
                                         "tokens` prints them");
  CLI::Option* causal =
      command.add_flag("--causal", options.causal, "With --weights: the cells above the diagonal are masked");
  CLI::Option* image = command.add_option("--image", options.image, "PNG picture, for models that read pictures");
  model->type_name("DIR")->excludes(weights);
  weights->type_name("FILE")->excludes(image);
  tokens->type_name("LIST")->excludes(file)->excludes(image);
  keys->type_name("LIST")->needs(weights);
  file->type_name("FILE")->needs(weights);
  causal->needs(weights);
  image->type_name("FILE");
  for (CLI::Option* text : AddTextOptions(command, options.text)) {
    text->excludes(tokens)->excludes(image)->excludes(weights);
  }
  AddPairOptions(command, options.pair)->excludes(tokens)->excludes(weights);
  AddAttentionOption(command, options.attention)->excludes(weights);
  for (CLI::Option* change : AddChangeOptions(command, options.changes)) change->excludes(weights);
}

void AddOutputs(CLI::App& command, MapOptions& options) {
  command
      .add_option(
          "--out", options.output,
          "Picture (.png, .svg), page (.html) or numbers (.json, .csv, .safetensors; in CSV an apostrophe stands "
          "before tokens that begin as formulas)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--what", options.what,
                  "Tensors of a .safetensors file: maps (attentions.LAYER), queries, keys, values (queries.LAYER …), "
                  "stream (stream.LAYER, the residual stream before a layer; one more after the last), logits")
      ->check(CLI::IsMember({"maps", "queries", "keys", "values", "stream", "logits"}))
      ->delimiter(',')
      ->type_size(1)
      ->allow_extra_args(false)
      ->type_name("LIST");
  command.add_option("--layer", options.layer, "Only this layer, counted from 0")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command.add_option("--head", options.head, "Only this head, counted from 0")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command.add_option("--theme", options.theme, "Colours: light or dark")
      ->check(CLI::IsMember({"light", "dark"}))
      ->type_name("THEME");
  command.add_option("--cell", options.cell, "Side of a cell in the picture, in pixels")
      ->check(CLI::Range(1, 64))
      ->type_name("PIXELS");
  CLI::Option* script = command.add_option(
      "--script", options.script,
      "The package's headlens.arrays.js, with which a page can be explored; one that is installed is taken by itself");
  CLI::Option* no_script = command.add_flag("--no-script", options.no_script, "A page with a picture and tables only");
  script->type_name("FILE")->excludes(no_script);
}

void CheckPicture(const MapOptions& options, const Maps& maps, const std::string& fewer) {
  const bool is_png = options.Writes(".png");
  PictureSize size{maps.cols, maps.rows};  // at least
  const auto fits = [&size] { return size.width <= kMaxSide && size.height <= kMaxSide; };
  if (fits()) {
    const Index cell = StyleOf(options, maps).cell;
    size = is_png ? SizeOfPng(maps, cell) : SizeOfSvg(maps, cell);
    if (fits() && (!is_png || size.width * size.height <= kMaxPixels)) return;
  }
  const Phrase most = is_png ? Phrase{kMaxPixels} : Phrase{kMaxSide, " on either side"};
  throw InputError(Wrong(ErrorCode::kValue, "the picture", "has", {size.width, " x ", size.height, " pixels"},
                         {"at most ", most, fewer, " or a smaller --cell"}));
}

}  // namespace

bool MapOptions::Wants(std::string_view name) const { return std::find(what.begin(), what.end(), name) != what.end(); }

bool MapOptions::Writes(std::string_view extension) const {
  return std::filesystem::path(output).extension() == extension;
}

void AddMapOptions(CLI::App& command, MapOptions& options) {
  AddInputs(command, options);
  AddOutputs(command, options);
  AddBackendOptions(command, options.backend);
  for (const char* name : {"--backend", "--threads", "--device", "--precision"}) {
    if (CLI::Option* option = command.get_option_no_throw(name)) option->excludes("--weights");
  }
}

PictureStyle StyleOf(const MapOptions& options, const Maps& maps) {
  const Index length = std::max(maps.rows, maps.cols);
  const bool single = maps.layers.size() * maps.heads.size() == 1 && !options.Writes(".png");
  const Index chosen = single ? std::clamp<Index>(kLargeMapPixels / length, kNamedCell, 24)
                              : std::clamp<Index>(kMapPixels / length, 1, 24);
  return {options.theme == "dark" ? Theme::kDark : Theme::kLight, options.cell > 0 ? options.cell : chosen};
}

std::vector<Index> FirstNumbers(Index count) {
  std::vector<Index> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

std::vector<Index> Chosen(const char* option, std::optional<Index> chosen, const std::vector<Index>& numbers) {
  if (!chosen) return numbers;
  if (std::find(numbers.begin(), numbers.end(), *chosen) != numbers.end()) return {*chosen};
  const bool follow = numbers.back() - numbers.front() + 1 == static_cast<Index>(numbers.size());
  const Phrase expected =
      follow ? Phrase{numbers.front(), " to ", numbers.back()} : Phrase{"one of ", ToString(numbers)};
  throw InputError(ValueError(option, *chosen, expected));
}

void CheckSizes(const MapOptions& options, const Maps& maps, double others) {
  const auto layers = static_cast<Index>(maps.layers.size()), heads = static_cast<Index>(maps.heads.size());
  const std::string fewer = ": choose a --layer or a --head, or give fewer tokens";
  const Phrase tokens =
      maps.rows == maps.cols ? Phrase{maps.rows, " tokens"} : Phrase{maps.rows, " queries and ", maps.cols, " keys"};
  const double weights = options.Wants("maps") ? static_cast<double>(maps.rows) * static_cast<double>(maps.cols) *
                                                     static_cast<double>(layers) * static_cast<double>(heads)
                                               : 0.0;
  const Index most = options.Writes(".html") ? kMaxPageNumbers : kMaxNumbers;
  if (weights > static_cast<double>(most)) {
    throw InputError(Wrong(ErrorCode::kValue, {"the maps of ", layers, " layers of ", heads, " heads for ", tokens},
                           "have", {weights, " weights"}, {"at most ", most, fewer}));
  }
  if (weights + others > static_cast<double>(kMaxNumbers)) {
    throw InputError(Wrong(ErrorCode::kValue, {"--what for ", tokens}, "has", {weights + others, " numbers"},
                           {"at most ", kMaxNumbers, fewer, " or --what with less"}));
  }
  if (options.Writes(".png") || options.Writes(".svg") || options.Writes(".html")) CheckPicture(options, maps, fewer);
}

}  // namespace headlens::cli
