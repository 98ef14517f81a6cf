// SPDX-License-Identifier: Apache-2.0
/// The result of a pass over a whole input, and the maps that are computed from it.
#include <map>
#include <memory>
#include <mutex>

#include "models/pass.h"

namespace headlens {

using models::AsHeads;
using models::CheckLayer;
using models::CheckRows;
using models::Kept;
using models::LoadedModel;

namespace {

void CheckOptions(const ModelInfo& info, const AttendOptions& options, Index length) {
  const Shape expected = {info.layers, info.heads}, got = SizesOf(options.head_mask);
  if (options.head_mask && got != expected) {
    throw ShapeError("`head_mask`", got, {expected, ": (layers, heads)"});
  }
  const auto expect_below = [](const char* name, Index value, Index end) {
    if (value >= -1 && value < end) return;
    throw ValueError(Fragment::Name(name), value, {"0 to ", end - 1, ", or -1 for none"});
  };
  expect_below("zeroed_token", options.zeroed_token, length);
  expect_below("zeroed_layer", options.zeroed_layer, info.layers);
}

}  // namespace

struct ModelAttention::State {
  std::shared_ptr<const LoadedModel> model;
  Index length = 0;
  std::vector<std::uint8_t> padding;
  std::vector<Kept> layers;
  std::vector<std::unique_ptr<const AttentionMaps>> maps;  // of each layer
  std::vector<DeviceTensor> streams;                       // before each layer, when they are kept
  DeviceTensor hidden;

  const Kept& At(Index layer) const {
    CheckLayer(model->architecture.info, layer, 0);
    return layers[static_cast<std::size_t>(layer)];
  }

  const AttentionMaps& MapsOf(Index layer, Index head) const {
    CheckLayer(model->architecture.info, layer, head);
    return *maps[static_cast<std::size_t>(layer)];
  }

  /// The elements of one of these tensors on the host, which are read back once.
  const Tensor& OnHost(const DeviceTensor& tensor) const {
    const std::lock_guard lock(mutex);
    auto it = on_host.find(&tensor);
    if (it == on_host.end()) it = on_host.emplace(&tensor, model->backend.ReadBack(tensor)->Wait()).first;
    return it->second;
  }

  mutable std::mutex mutex;
  mutable std::map<const DeviceTensor*, Tensor> on_host;
};

ModelAttention::ModelAttention(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelAttention::ModelAttention(ModelAttention&&) noexcept = default;
ModelAttention& ModelAttention::operator=(ModelAttention&&) noexcept = default;
ModelAttention::~ModelAttention() = default;

Index ModelAttention::length() const { return state_->length; }
const Tensor& ModelAttention::hidden() const { return state_->OnHost(state_->hidden); }
const Tensor& ModelAttention::Queries(Index layer) const { return state_->OnHost(state_->At(layer).q); }
const Tensor& ModelAttention::Keys(Index layer) const { return state_->OnHost(state_->At(layer).k); }

const Tensor& ModelAttention::Values(Index layer) const {
  const DeviceTensor& values = state_->At(layer).v;
  if (values.size() == 0) throw Error(ErrorCode::kOption, "values were not kept: attend with `keep_values`");
  return state_->OnHost(values);
}

const Tensor& ModelAttention::Hidden(Index layer) const {
  state_->At(layer);
  if (state_->streams.empty()) throw Error(ErrorCode::kOption, "streams were not kept: attend with `keep_hidden`");
  return state_->OnHost(state_->streams[static_cast<std::size_t>(layer)]);
}

const AttentionMaps& ModelAttention::Maps(Index layer) const { return state_->MapsOf(layer, 0); }

void ModelAttention::Map(Index layer, Index head, const MapWindow& window, DeviceView<float, 2> weights) const {
  state_->MapsOf(layer, head).Map(0, head, window, weights);
}

void ModelAttention::PooledMap(Index layer, Index head, const MapWindow& window, PoolKind kind,
                               DeviceView<float, 2> pooled) const {
  state_->MapsOf(layer, head).Pooled(0, head, window, kind, pooled);
}

std::vector<RowSummary> ModelAttention::RowSummaries(Index layer, Index head, Index row_begin, Index row_end) const {
  return state_->MapsOf(layer, head).Summaries(0, head, row_begin, row_end);
}

Tensor ModelAttention::Logits(Index row_begin, Index row_end) const {
  models::RequireLogits(*state_->model);
  const bool first_only = state_->model->parameters.head->first_row_only;
  CheckRows(row_begin, row_end, first_only ? 1 : state_->length);
  return models::LogitsOf(*state_->model, Rows(state_->hidden.view<2>(), row_begin, row_end - row_begin));
}

Tensor ModelAttention::Logits() const {
  models::RequireLogits(*state_->model);
  return Logits(0, state_->model->parameters.head->first_row_only ? 1 : state_->length);
}

ModelAttention Model::Attend(const ModelInput& input, const AttendOptions& options) const {
  auto state = std::make_unique<ModelAttention::State>();
  state->model = model_;
  state->padding.assign(input.padding.begin(), input.padding.end());
  state->hidden = models::Embed(*model_, input, 0);
  state->length = state->hidden.shape()[0];
  CheckOptions(info(), options, state->length);
  const models::Pass pass(*model_, options, 0, state->length);
  for (Index i = 0; i < info().layers; ++i) {
    if (options.keep_hidden) {
      const DeviceTensor& stream = state->streams.emplace_back(model_->backend.Allocate(state->hidden.shape()));
      model_->backend.Copy(AsHeads(state->hidden, 1), AsHeads(stream, 1));
    }
    Kept& kept = state->layers.emplace_back();
    pass.RunLayer(i, state->hidden, kept, [&] {
      AttentionProblem problem = models::ProblemOf(*model_, i, AsHeads(kept.q, info().heads), 0,
                                                   AsHeads(kept.k, info().kv_heads), 0, state->padding);
      state->maps.push_back(std::make_unique<const AttentionMaps>(problem, model_->backend));
      problem.v = AsHeads(kept.v, info().kv_heads);
      return problem;
    });
    if (!options.keep_values) kept.v = {};
  }
  return ModelAttention(std::move(state));
}

ModelAttention Model::Attend(std::span<const std::int32_t> ids) const {
  ModelInput input;
  input.ids = ids;
  return Attend(input);
}

}  // namespace headlens
