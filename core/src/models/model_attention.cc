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
  State(std::shared_ptr<const LoadedModel> of, const ModelInput& input)
      : model(std::move(of)),
        padding(input.padding.begin(), input.padding.end()),
        hidden(models::Embed(*model, input, 0)),
        length(hidden.shape()[0]) {}

  std::shared_ptr<const LoadedModel> model;
  std::vector<std::uint8_t> padding;
  std::vector<Kept> layers;
  std::vector<std::unique_ptr<const AttentionMaps>> maps;  // of each layer
  std::vector<DeviceTensor> streams;                       // before each layer, when they are kept
  DeviceTensor hidden;
  Index length;

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

struct AttendSteps::State {
  State(std::shared_ptr<const LoadedModel> model, const ModelInput& input, const AttendOptions& given, Index piece)
      : info(model->architecture.info),
        attention(new ModelAttention::State(std::move(model), input)),
        options(given),
        pass(*attention->model, options, 0, attention->hidden, piece,
             [this](Index layer, const Kept& kept) { return ProblemOf(layer, kept); }) {
    CheckOptions(info, options, attention->length);
    if (!given.head_mask) return;
    head_mask = Tensor(SizesOf(given.head_mask));
    for (Index layer = 0; layer < info.layers; ++layer)
      for (Index head = 0; head < info.heads; ++head) head_mask.view<2>()(layer, head) = given.head_mask(layer, head);
    options.head_mask = head_mask.view<2>();
  }

  /// The queries and keys are those that the pass still has: moving their tensors leaves their elements in place.
  AttentionProblem ProblemOf(Index layer, const Kept& kept) {
    const LoadedModel& model = *attention->model;
    AttentionProblem problem = models::ProblemOf(model, layer, AsHeads(kept.q, info.heads), 0,
                                                 AsHeads(kept.k, info.kv_heads), 0, attention->padding);
    attention->maps.push_back(std::make_unique<const AttentionMaps>(problem, model.backend));
    problem.v = AsHeads(kept.v, info.kv_heads);
    return problem;
  }

  double Next() {
    const Backend& backend = attention->model->backend;
    if (options.keep_hidden && pass.at_layer()) {
      const DeviceTensor& stream = attention->streams.emplace_back(backend.Allocate(attention->hidden.shape()));
      backend.Copy(AsHeads(attention->hidden, 1), AsHeads(stream, 1));
    }
    const Index layer = pass.layer();
    const double done = pass.Next();
    if (pass.layer() == layer) return done;
    if (!options.keep_values) pass.kept().v = {};
    attention->layers.push_back(std::move(pass.kept()));
    return done;
  }

  const ModelInfo& info;
  std::unique_ptr<ModelAttention::State> attention;
  AttendOptions options;
  Tensor head_mask;
  models::Pass pass;
};

AttendSteps::AttendSteps(std::unique_ptr<State> state) : state_(std::move(state)) {}
AttendSteps::AttendSteps(AttendSteps&&) noexcept = default;
AttendSteps& AttendSteps::operator=(AttendSteps&&) noexcept = default;
AttendSteps::~AttendSteps() = default;

double AttendSteps::Next() { return done_ < 1.0 ? done_ = state_->Next() : 1.0; }

ModelAttention AttendSteps::Finish() && {
  while (Next() < 1.0) continue;
  ModelAttention attention(std::move(state_->attention));
  state_.reset();
  return attention;
}

AttendSteps Model::StartAttending(const ModelInput& input, const AttendOptions& options, Index piece) const {
  if (piece < 1) throw ValueError("`piece`", piece, "at least 1");
  return AttendSteps(std::make_unique<AttendSteps::State>(model_, input, options, piece));
}

ModelAttention Model::Attend(const ModelInput& input, const AttendOptions& options) const {
  return StartAttending(input, options, AttendSteps::kWhole).Finish();
}

ModelAttention Model::Attend(std::span<const std::int32_t> ids) const {
  ModelInput input;
  input.ids = ids;
  return Attend(input);
}

}  // namespace headlens
