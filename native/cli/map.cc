// SPDX-License-Identifier: Apache-2.0
/// The command `headlens map --model DIR (--text TEXT | --tokens IDS | --image FILE) --out FILE`, which writes the
/// attention maps of all heads.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/words.h"
#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/maps.h"
#include "cli/model_folder.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "headlens/folder.h"

namespace headlens::cli {
namespace {

struct MapOptions {
  std::string model, output, image;
  Ids tokens;
  TextOptions text;  // the text, when no token ids are given
  std::optional<Index> layer, head;
  std::string theme = "light";
  BackendOptions backend;
  Index cell = 0;  // 0: depends on the number of tokens
};

constexpr double kMaxWeights = 1 << 26;  // limit for all maps together: 256 MiB
constexpr Index kMaxPixels = 1 << 26;    // limit for the picture: 192 MiB
constexpr Index kMaxSide = 1 << 20;
constexpr Index kMapPixels = 200;  // approximate width of a map without --cell

std::string ExtensionOf(const std::string& path) { return std::filesystem::path(path).extension().string(); }
bool IsPicture(const std::string& path) { return ExtensionOf(path) == ".png" || ExtensionOf(path) == ".svg"; }
bool IsNumbers(const std::string& path) { return ExtensionOf(path) == ".json" || ExtensionOf(path) == ".csv"; }

PictureStyle StyleOf(const MapOptions& options, Index length) {
  const Index cell = options.cell > 0 ? options.cell : std::clamp<Index>(kMapPixels / length, 1, 24);
  return {options.theme == "dark" ? Theme::kDark : Theme::kLight, cell};
}

/// The numbers 0 to count - 1, or only the chosen one.
std::vector<Index> Chosen(const char* option, std::optional<Index> chosen, Index count) {
  if (chosen && *chosen >= count) {
    throw InputError(ValueError(option, *chosen, {"0 to ", count - 1}));
  }
  if (chosen) return {*chosen};
  std::vector<Index> all(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

/// Throws InputError when the maps or the picture would be too large, before anything is computed.
void CheckSizes(const MapOptions& options, const Maps& maps) {
  const auto layers = static_cast<Index>(maps.layers.size()), heads = static_cast<Index>(maps.heads.size());
  const Index length = maps.length();
  const double weights = static_cast<double>(length) * static_cast<double>(length) * static_cast<double>(layers) *
                         static_cast<double>(heads);
  const std::string fewer = ": choose a --layer or a --head, or give fewer tokens";
  if (weights > kMaxWeights) {
    throw InputError(Wrong(ErrorCode::kValue,
                           {"the maps of ", layers, " layers of ", heads, " heads for ", length, " tokens"}, "have",
                           {weights, " weights"}, {"at most ", static_cast<Index>(kMaxWeights), fewer}));
  }
  if (IsNumbers(options.output)) return;
  const auto [width, height] = SizeOfPicture(layers, heads, length, StyleOf(options, length).cell);
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixels) {
    throw InputError(Wrong(ErrorCode::kValue, "the picture", "has", {width, " x ", height, " pixels"},
                           {"at most ", kMaxPixels, fewer, " or a smaller --cell"}));
  }
}

/// The maps that the options ask for, still without weights.
Maps PlanMaps(const MapOptions& options, const ModelInfo& info) {
  Maps maps;
  maps.tokens = options.tokens;
  maps.patches = info.image_size > 0 ? info.image_size / info.patch_size : 0;
  maps.causal = info.causal;
  maps.layers = Chosen("--layer", options.layer, info.layers);
  maps.heads = Chosen("--head", options.head, info.heads);
  ExpectImage(maps.patches > 0, options.image);
  if (options.text.IsGiven()) {
    TextTokens tokens = Tokenize(options.model, options.text);
    maps.tokens = std::move(tokens.ids);
    maps.pieces = std::move(tokens.pieces);
    if (maps.tokens.empty()) throw InputError(Wrong(ErrorCode::kValue, "the text", "has", "no tokens", "at least one"));
  }
  if (maps.patches == 0 && maps.tokens.empty()) {
    throw InputError(MissingError(ErrorCode::kOption, "--text, --text-file or --tokens",
                                  "the text, or the ids of its tokens, as 1,2,3"));
  }
  CheckSizes(options, maps);
  return maps;
}

/// Throws InputError when the output is one of the model's files. It may be in the same folder.
void ExpectNoInput(const MapOptions& options) {
  if (!options.image.empty()) ExpectOther(options.output, options.image);
  if (!options.text.file.empty()) ExpectOther(options.output, options.text.file);
  for (const char* file : {kConfigFile, kTokenizerFile, kProcessorFile, kIndexFile})
    ExpectOther(options.output, options.model + "/" + file);
}

Maps ComputeMaps(const MapOptions& options, const Progress& progress) {
  const ModelConfig config = ReadConfig(options.model);
  const ModelInfo& info = config.info();
  Maps maps = PlanMaps(options, info);
  progress.Show("reading " + options.model);
  const BackendSet backends(options.backend);
  const Model model = LoadModelFolder(options.model, config, backends.chosen());
  progress.Show("running the model");
  const Tensor image = options.image.empty() ? Tensor() : ReadImage(options.model, options.image, info);
  ModelInput input;
  input.ids = maps.tokens;
  if (image.size() > 0) input.image = image.view<3>();
  const std::string source = options.text.IsGiven() ? "the text" : options.image.empty() ? "--tokens" : "--image";
  return Blaming(source, [&] {
    const ModelAttention attention = model.Attend(input);
    for (const Index layer : maps.layers) {
      progress.Show("maps of layer " + std::to_string(layer));
      for (const Index head : maps.heads) {
        maps.weights.emplace_back(Shape{maps.length(), maps.length()});
        attention.Map(layer, head, {}, maps.weights.back().view<2>());
      }
    }
    return std::move(maps);
  });
}

void Map(const MapOptions& options) {
  if (!IsPicture(options.output) && !IsNumbers(options.output))
    throw InputError(OptionError("--out", Quoted(options.output), "a name that ends in .png, .svg, .json or .csv"));
  const Progress progress;
  ExpectNoInput(options);
  const std::string extension = ExtensionOf(options.output);
  const Maps maps = ComputeMaps(options, progress);
  progress.Show("writing " + options.output);
  Blaming(options.output, [&] {
    if (extension == ".png") WriteFile(options.output, ToPng(maps, StyleOf(options, maps.length())));
    if (extension == ".svg") WriteFile(options.output, ToSvg(maps, StyleOf(options, maps.length())));
    if (extension == ".json") WriteFile(options.output, ToJson(maps));
    if (extension == ".csv") WriteFile(options.output, ToCsv(maps));
  });
}

}  // namespace

void AddMap(CLI::App& app) {
  CLI::App* command = app.add_subcommand("map", "Draw what every head of a model looks at");
  const auto options = std::make_shared<MapOptions>();
  command
      ->add_option("--model", options->model,
                   "Folder as Hugging Face has it: config.json, model.safetensors or its shards, tokenizer.json")
      ->required()
      ->type_name("DIR");
  CLI::Option* tokens = AddIdsOption(*command, "--tokens", options->tokens, "Ids of the tokens, as 1,2,3");
  CLI::Option* image = command->add_option("--image", options->image, "PNG picture, for models that read pictures");
  image->type_name("FILE")->excludes(tokens);
  for (CLI::Option* text : AddTextOptions(*command, options->text)) text->excludes(tokens)->excludes(image);
  command
      ->add_option("--out", options->output,
                   "Picture (.png, .svg) or weights (.json, .csv; in CSV an apostrophe stands before tokens that begin "
                   "as formulas)")
      ->required()
      ->type_name("FILE");
  command->add_option("--layer", options->layer, "Only this layer, counted from 0")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--head", options->head, "Only this head, counted from 0")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--theme", options->theme, "Colours: light or dark")
      ->check(CLI::IsMember({"light", "dark"}))
      ->type_name("THEME");
  command->add_option("--cell", options->cell, "Side of a cell in the picture, in pixels")
      ->check(CLI::Range(1, 64))
      ->type_name("PIXELS");
  AddBackendOptions(*command, options->backend);
  command->callback([options] { Map(*options); });
}

}  // namespace headlens::cli
