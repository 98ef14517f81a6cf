// SPDX-License-Identifier: Apache-2.0
/// Runs a model for `headlens map`.
#include <algorithm>
#include <utility>

#include "base/words.h"
#include "cli/files.h"
#include "cli/map_options.h"

namespace headlens::cli {
namespace {

/// The number of numbers that --what asks for beside the maps.
double CountOthers(const MapOptions& options, const Maps& maps, const ModelInfo& info) {
  const auto layers = static_cast<double>(maps.layers.size()), heads = static_cast<double>(maps.heads.size());
  const auto kv_heads = maps.heads.size() == 1 ? 1.0 : static_cast<double>(info.kv_heads);
  const auto head_dim = static_cast<double>(info.head_dim);
  double width = 0.0;
  if (options.Wants("queries")) width += layers * heads * head_dim;
  if (options.Wants("keys")) width += layers * kv_heads * head_dim;
  if (options.Wants("values")) width += layers * kv_heads * head_dim;
  if (options.Wants("stream")) width += (layers + 1.0) * static_cast<double>(info.hidden_size);
  // A config does not say how many classes of images there are, but they are few.
  if (options.Wants("logits")) width += static_cast<double>(info.vocab_size);
  return width * static_cast<double>(maps.rows);
}

/// The maps that the options ask for, still without weights.
Maps PlanMaps(const MapOptions& options, const ModelRun& run) {
  const ModelInfo& info = run.info();
  const RunInput& input = run.input();
  Maps maps;
  const bool of_encoder = options.attention == AttentionPart::kEncoder;
  const bool of_decoder = options.attention == AttentionPart::kDecoder;
  ExpectAttention(options.attention, info);
  if (!of_decoder && options.what != MapOptions{}.what)
    throw InputError(OptionError("--what", Joined(options.what), "maps, which is all that --attention has of others"));
  maps.patches = input.patches;
  maps.causal = info.causal && of_decoder;
  maps.layers = Chosen("--layer", options.layer, FirstNumbers(of_encoder ? info.encoder_layers : info.layers));
  if (!info.windows.empty())
    for (const Index layer : maps.layers) maps.windows.push_back(info.windows[static_cast<std::size_t>(layer)]);
  maps.heads = Chosen("--head", options.head, FirstNumbers(of_encoder ? info.encoder_heads : info.heads));
  const TextTokens& source = input.source_tokens;
  maps.ids = of_encoder ? source.ids : input.ids;
  maps.pieces = of_encoder ? source.pieces : input.pieces;
  maps.key_pieces = of_decoder ? input.pieces : source.pieces;
  maps.rows = of_encoder ? std::ssize(source.ids) : input.length();
  maps.cols = of_decoder ? input.length() : std::ssize(source.ids);
  CheckSizes(options, maps, CountOthers(options, maps, info));
  return maps;
}

/// Some heads of [T, heads · width] as [heads, T, width].
Tensor HeadsOf(const Tensor& joined, Index first, Index count, Index width) {
  const View<const float, 2> all = joined.view<2>();
  const Index length = all.shape[0];
  Tensor apart({count, length, width});
  for (Index head = 0; head < count; ++head)
    for (Index t = 0; t < length; ++t)
      std::copy_n(all.at(t, (first + head) * width), width, apart.view<3>().at(head, t));
  return apart;
}

/// The tensors that --what asks for beside the maps.
TensorMap OthersOf(const MapOptions& options, const Maps& maps, const ModelInfo& info,
                   const ModelAttention& attention) {
  TensorMap others;
  const auto add = [&](const std::string& name, Index layer, const Tensor& joined, Index heads) {
    const bool single = options.head.has_value();
    const Index first = single ? *options.head * heads / info.heads : 0;
    others.emplace(name + "." + std::to_string(layer), HeadsOf(joined, first, single ? 1 : heads, info.head_dim));
  };
  const auto add_stream = [&](Index layer) {
    const Tensor& stream = layer < info.layers ? attention.Hidden(layer) : attention.hidden();
    others.insert_or_assign("stream." + std::to_string(layer), stream.Clone());
  };
  for (const Index layer : maps.layers) {
    if (options.Wants("queries")) add("queries", layer, attention.Queries(layer), info.heads);
    if (options.Wants("keys")) add("keys", layer, attention.Keys(layer), info.kv_heads);
    if (options.Wants("values")) add("values", layer, attention.Values(layer), info.kv_heads);
    if (options.Wants("stream")) add_stream(layer);
  }
  if (options.Wants("stream")) add_stream(maps.layers.back() + 1);
  if (options.Wants("logits")) others.emplace("logits", attention.Logits());
  return others;
}

std::vector<Tensor> WeightsOf(const Maps& maps, AttentionPart part, const ModelAttention& attention,
                              const Progress& progress) {
  std::vector<Tensor> weights;
  for (const Index layer : maps.layers) {
    progress.Show("maps of layer " + std::to_string(layer));
    const Tensor& all = weights.emplace_back(Shape{static_cast<Index>(maps.heads.size()), maps.rows, maps.cols});
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      float* const map = all.view<3>().at(j);
      attention.Maps(layer, part).Map(0, maps.heads[j], {}, DenseView<float, 2>(map, {maps.rows, maps.cols}));
    }
  }
  return weights;
}

}  // namespace

Maps MapsOfModel(const MapOptions& options, const Progress& progress) {
  ModelRun run(options);
  Maps maps = PlanMaps(options, run);
  run.Load(progress);
  AttendOptions keep;
  keep.keep_hidden = options.Wants("stream");
  keep.keep_values = options.Wants("values");
  const ModelAttention attention = run.Attend(keep);
  return Blaming(run.input().source, [&] {
    if (options.Wants("maps")) maps.weights = WeightsOf(maps, options.attention, attention, progress);
    maps.others = OthersOf(options, maps, run.info(), attention);
    return std::move(maps);
  });
}

}  // namespace headlens::cli
