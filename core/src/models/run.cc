// SPDX-License-Identifier: Apache-2.0
#include "models/run.h"

#include <algorithm>

#include "models/embedding.h"

namespace headlens::models {

DeviceTensor CopyOf(const Backend& backend, const DeviceTensor& rows) {
  DeviceTensor copy = backend.Allocate(rows.shape());
  backend.Copy(AsHeads(rows, 1), AsHeads(copy, 1));
  return copy;
}

namespace {

/// Rows [first, first + count) of [T, D], as a copy takes them.
DeviceView<float, 4> Part(const DeviceTensor& rows, Index first, Index count) {
  DeviceView<float, 4> part = AsHeads(rows, 1);
  part.data = part.at(0, 0, first);
  part.shape[2] = count;
  return part;
}

}  // namespace

DeviceTensor Appended(const Backend& backend, const DeviceTensor& before, Index count, const DeviceTensor& rows) {
  const Index more = rows.shape()[0];
  DeviceTensor all = backend.Allocate({count + more, rows.shape()[1]});
  backend.Copy(Part(before, 0, count), Part(all, 0, count));
  backend.Copy(Part(rows, 0, more), Part(all, count, more));
  return all;
}

DeviceTensor RowsFrom(const Backend& backend, const DeviceTensor& rows, Index first) {
  const Index count = rows.shape()[0] - first;
  DeviceTensor copy = backend.Allocate({count, rows.shape()[1]});
  backend.Copy(Part(rows, first, count), Part(copy, 0, count));
  return copy;
}

namespace {

/// Returns true when the layer has everything that the options ask to keep.
bool Keeps(const LayerRun& layer, const AttendOptions& options) {
  return (!options.keep_values || layer.kept.v) && (!options.keep_hidden || layer.stream) &&
         (!options.keep_parts || layer.kept.feed_forward);
}

AttendOptions Completed(AttendOptions options) {
  options.keep_hidden = options.keep_hidden || options.keep_parts;
  return options;
}

}  // namespace

Run::Run(std::shared_ptr<const LoadedModel> of, const ModelInput& input, const AttendOptions& options)
    : model(std::move(of)),
      hidden(Embed(*model, input, 0)),
      request(std::make_shared<const Request>(*model, input, Completed(options), length())) {}

Run::Run(const Run& base, const AttendOptions& options)
    : model(base.model),
      request(std::make_shared<const Request>(*model, base.request->input(), Completed(options), base.length())) {
  Index shared = request->FirstDifference(info(), *base.request);
  const auto keeps = [&](const auto& layer) { return Keeps(*layer, request->options()); };
  if (model->encoder && request->HasSameEncoder(*base.request) && std::ranges::all_of(base.encoder->layers, keeps))
    encoder = base.encoder;
  if (model->encoder && !encoder) shared = 0;
  if (!std::all_of(base.layers.begin(), base.layers.begin() + shared, keeps)) shared = 0;
  if (shared == info().layers) {
    layers = base.layers;
    hidden = base.hidden;
    return;
  }
  const DeviceTensor& stream = base.layers[static_cast<std::size_t>(shared)]->stream;
  if (stream) layers.assign(base.layers.begin(), base.layers.begin() + shared);
  hidden = stream ? CopyOf(model->backend, stream) : Embed(*model, request->input(), 0);
}

Index Run::SharedTokens(const Run& before) const {
  const Architecture& a = model->architecture;
  const ModelInput &mine = request->input(), &its = before.request->input();
  const auto is_whole = [](const ModelInput& input) { return input.padding.empty() && input.segments.empty(); };
  if (!a.info.causal || model->encoder || !is_whole(mine) || !is_whole(its) || request->options().keep_parts) return 0;
  if (!request->IsTheSameForAllTokens() || request->FirstDifference(a.info, *before.request) < a.info.layers) return 0;
  const auto turns = [&](const std::optional<Rope>& rope) {
    return rope && !HasFixedAngles(*rope, std::max(length(), before.length()));
  };
  if (turns(a.rope) || turns(a.local_rope)) return 0;
  for (const auto& layer : before.layers)
    if (!layer->kept.v || !Keeps(*layer, request->options())) return 0;
  const auto end = std::ranges::mismatch(mine.ids, its.ids).in1;
  return std::min<Index>(end - mine.ids.begin(), length() - 1);
}

const LayerRun& Run::At(Index layer) const {
  CheckLayer(info(), layer, 0);
  return *layers[static_cast<std::size_t>(layer)];
}

const AttentionMaps& Run::MapsOf(Index layer, Index head) const {
  CheckLayer(info(), layer, head);
  return *layers[static_cast<std::size_t>(layer)]->maps;
}

const AttentionMaps& Run::CrossMapsOf(Index layer, Index head) const {
  Encoder();
  CheckLayer(info(), layer, head);
  return *layers[static_cast<std::size_t>(layer)]->cross_maps;
}

const DeviceTensor& Run::StreamBefore(Index layer) const {
  if (layer == info().layers) return hidden;
  if (At(layer).stream) return At(layer).stream;
  throw Error(ErrorCode::kOption, "streams were not kept: attend with `keep_hidden`");
}

void Run::RequireParts() const {
  if (layers.front()->kept.feed_forward) return;
  throw Error(ErrorCode::kOption, "what heads and feed-forward networks write was not kept: attend with `keep_parts`");
}

DeviceTensor Run::Output() const {
  DeviceTensor output = CopyOf(model->backend, hidden);
  if (const Norm& norm = model->parameters.final_norm)
    Normalize(model->backend, model->architecture.block, norm, output.view<2>(), output.view<2>());
  return output;
}

const Run& Run::Encoder() const {
  if (encoder) return *encoder;
  throw Error(ErrorCode::kUnsupported, {"a ", info().family, " model has no encoder beside its layers"});
}

const Tensor& Run::OnHost(const DeviceTensor& tensor) const {
  const std::lock_guard lock(mutex_);
  auto it = on_host_.find(&tensor);
  if (it == on_host_.end()) it = on_host_.emplace(&tensor, model->backend.ReadBack(tensor)->Wait()).first;
  return it->second;
}

}  // namespace headlens::models
