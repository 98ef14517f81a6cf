// SPDX-License-Identifier: Apache-2.0
/// The result of a pass over a whole input, and the maps that are computed from it.
#include <algorithm>
#include <map>
#include <mutex>

#include "models/pass.h"

namespace headlens {

using models::AsHeads;
using models::CheckLayer;
using models::CheckRows;
using models::Kept;
using models::LoadedModel;

namespace {

// The size of the strip of rows in which a pooled map is computed: 2 MiB, so that it is read again while it is in the
// cache.
constexpr Index kStripFloats = Index{1} << 19;

/// The mean of rows [begin, end), which do not fit a strip, as the mean of several strips' means.
template <class Pool>
Tensor PoolTall(Index begin, Index end, Index most, Index columns, const Pool& pool) {
  Tensor mean({1, columns});
  std::vector<double> sums(static_cast<std::size_t>(columns), 0.0);
  for (Index first = begin; first < end; first += most) {
    const Index count = std::min(most, end - first);
    pool(first, count, {count, 1, 0, 0}, mean.view<2>());
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += double{mean.values()[j]} * static_cast<double>(count);
  }
  for (std::size_t j = 0; j < sums.size(); ++j)
    mean.values()[j] = static_cast<float>(sums[j] / static_cast<double>(end - begin));
  return mean;
}

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
  std::vector<DeviceTensor> streams;  // before each layer, when they are kept
  DeviceTensor hidden;

  const Kept& At(Index layer) const {
    CheckLayer(model->architecture.info, layer, 0);
    return layers[static_cast<std::size_t>(layer)];
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

void ModelAttention::Map(Index layer, Index head, Index row_begin, Index row_end, DeviceView<float, 2> weights) const {
  const ModelInfo& info = state_->model->architecture.info;
  CheckLayer(info, layer, head);
  CheckRows(row_begin, row_end, state_->length);
  const Kept& kept = state_->At(layer);
  const DeviceView<float, 4> q = AsHeads(kept.q, info.heads), k = AsHeads(kept.k, info.kv_heads);
  const Index rows = row_end - row_begin, group = head / (info.heads / info.kv_heads);
  const DeviceView<const float, 4> q_rows = {q.at(0, head, row_begin), {1, 1, rows, info.head_dim}, q.strides},
                                   keys = {k.at(0, group), {1, 1, state_->length, info.head_dim}, k.strides};
  const AttentionProblem problem =
      models::ProblemOf(*state_->model, layer, q_rows, row_begin, keys, 0, state_->padding);
  AttentionResults results;
  results.weights = {
      weights.data, {1, 1, weights.shape[0], weights.shape[1]}, {0, 0, weights.strides[0], weights.strides[1]}};
  state_->model->backend.Attention(problem, results);
}

void ModelAttention::PooledMap(Index layer, Index head, Index row_begin, Index row_end,
                               DeviceView<float, 2> pooled) const {
  const Index length = state_->length, rows = row_end - row_begin, columns = pooled.shape[1];
  CheckRows(row_begin, row_end, length);
  if (pooled.shape[0] < 1 || columns < 1 || pooled.shape[0] > rows || columns > length) {
    throw Error(ErrorCode::kValue,
                {"weights of shape ", Shape{rows, length}, " cannot be pooled to ", Shape{pooled.shape[0], columns}});
  }
  const Index blocks = pooled.shape[0], most = std::clamp<Index>(kStripFloats / length, 1, rows);
  const Backend& backend = state_->model->backend;
  const DeviceTensor strip = backend.Allocate({most, length});
  const auto pool = [&](Index first, Index count, Backend::Pooling pooling, DeviceView<float, 2> to) {
    Map(layer, head, row_begin + first, row_begin + first + count, Rows(strip.view<2>(), 0, count));
    backend.Pool(Rows(strip.view<2>(), 0, count), pooling, to);
  };
  for (Index block = 0, end; block < blocks; block = end) {
    const Index first = BlockBegin(block, rows, blocks), next = BlockBegin(block + 1, rows, blocks);
    end = block + 1;
    if (next - first > most) {
      const std::array<Index, 4> row = {1, 1, 1, columns};
      backend.Copy(DenseView(PoolTall(first, next, most, columns, pool).data(), row), DenseView(pooled.at(block), row));
      continue;
    }
    while (end < blocks && BlockBegin(end + 1, rows, blocks) - first <= most) ++end;
    const Index count = BlockBegin(end, rows, blocks) - first;
    pool(first, count, {rows, blocks, first, block}, Rows(pooled, block, end - block));
  }
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
