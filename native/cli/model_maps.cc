// SPDX-License-Identifier: Apache-2.0
/// Runs a model for `headlens map`.
#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/map_options.h"
#include "cli/model_folder.h"

namespace headlens::cli {
namespace {

/// Reads the ids or the text that the options give.
void ReadTokens(const MapOptions& options, Maps& maps) {
  maps.ids = options.tokens;
  if (options.text.IsGiven()) {
    TextTokens tokens = Tokenize(options.model, options.text);
    maps.ids = std::move(tokens.ids);
    maps.pieces = maps.key_pieces = std::move(tokens.pieces);
    if (maps.ids.empty()) throw InputError(Wrong(ErrorCode::kValue, "the text", "has", "no tokens", "at least one"));
  }
  if (maps.patches == 0 && maps.ids.empty()) {
    throw InputError(MissingError(ErrorCode::kOption, "--text, --text-file or --tokens",
                                  "the text, or the ids of its tokens, as 1,2,3"));
  }
}

/// The maps that the options ask for, still without weights.
Maps PlanMaps(const MapOptions& options, const ModelInfo& info) {
  Maps maps;
  maps.patches = info.image_size > 0 ? info.image_size / info.patch_size : 0;
  maps.causal = info.causal;
  maps.layers = Chosen("--layer", options.layer, FirstNumbers(info.layers));
  maps.heads = Chosen("--head", options.head, FirstNumbers(info.heads));
  ExpectImage(maps.patches > 0, options.image);
  ReadTokens(options, maps);
  maps.rows = maps.cols = maps.patches > 0 ? maps.patches * maps.patches + 1 : static_cast<Index>(maps.ids.size());
  CheckSizes(options, maps);
  return maps;
}

std::vector<Tensor> WeightsOf(const Maps& maps, const ModelAttention& attention, const Progress& progress) {
  std::vector<Tensor> weights;
  for (const Index layer : maps.layers) {
    progress.Show("maps of layer " + std::to_string(layer));
    const Tensor& all = weights.emplace_back(Shape{static_cast<Index>(maps.heads.size()), maps.rows, maps.cols});
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      float* const map = all.view<3>().at(j);
      attention.Map(layer, maps.heads[j], {}, DenseView<float, 2>(map, {maps.rows, maps.cols}));
    }
  }
  return weights;
}

}  // namespace

Maps MapsOfModel(const MapOptions& options, const Progress& progress) {
  const ModelConfig config = ReadConfig(options.model);
  const ModelInfo& info = config.info();
  Maps maps = PlanMaps(options, info);
  progress.Show("reading " + options.model);
  const BackendSet backends(options.backend);
  const Model model = LoadModelFolder(options.model, config, backends.chosen());
  progress.Show("running the model");
  const Tensor image = options.image.empty() ? Tensor() : ReadImage(options.model, options.image, info);
  ModelInput input;
  input.ids = maps.ids;
  if (image.size() > 0) input.image = image.view<3>();
  const std::string source = options.text.IsGiven() ? "the text" : options.image.empty() ? "--tokens" : "--image";
  return Blaming(source, [&] {
    const ModelAttention attention = model.Attend(input);
    maps.weights = WeightsOf(maps, attention, progress);
    return std::move(maps);
  });
}

}  // namespace headlens::cli
