// SPDX-License-Identifier: Apache-2.0
/// One pass over a whole input, and the maps that are computed from what it leaves behind.
#include <algorithm>

#include "models/pass.h"

namespace headlens {

using models::AsHeads;
using models::CheckLayer;
using models::CheckRows;
using models::Kept;
using models::LoadedModel;

namespace {

// Floats of the strip of rows that a pooled map is computed in: 4 MiB.
constexpr Index kStripFloats = Index{1} << 20;

/// Where part `i` of `parts` equal parts of [0, n) begins.
Index PartBegin(Index i, Index n, Index parts) { return i * n / parts; }

void CheckOptions(const ModelInfo& info, const AttendOptions& options, Index length) {
  const Shape expected = {info.layers, info.heads}, got = SizesOf(options.head_mask);
  if (options.head_mask && got != expected) {
    throw Error(ErrorCode::kShape,
                "head_mask has shape " + ToString(got) + ", expected " + ToString(expected) + " (layers, heads)");
  }
  const auto expect_below = [](const char* name, Index value, Index end) {
    if (value >= -1 && value < end) return;
    throw Error(ErrorCode::kValue, std::string(name) + " is " + std::to_string(value) + ", expected 0 to " +
                                       std::to_string(end - 1) + ", or -1 for none");
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
  std::vector<Tensor> streams;  // before each layer, when they are kept
  Tensor hidden;

  const Kept& At(Index layer) const {
    CheckLayer(model->architecture.info, layer, 0);
    return layers[static_cast<std::size_t>(layer)];
  }
};

ModelAttention::ModelAttention(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelAttention::ModelAttention(ModelAttention&&) noexcept = default;
ModelAttention& ModelAttention::operator=(ModelAttention&&) noexcept = default;
ModelAttention::~ModelAttention() = default;

Index ModelAttention::length() const { return state_->length; }
const Tensor& ModelAttention::hidden() const { return state_->hidden; }
const Tensor& ModelAttention::Queries(Index layer) const { return state_->At(layer).q; }
const Tensor& ModelAttention::Keys(Index layer) const { return state_->At(layer).k; }

const Tensor& ModelAttention::Values(Index layer) const {
  const Tensor& values = state_->At(layer).v;
  if (values.size() == 0) throw Error(ErrorCode::kOption, "values were not kept: attend with keep_values");
  return values;
}

const Tensor& ModelAttention::Hidden(Index layer) const {
  state_->At(layer);
  if (state_->streams.empty()) throw Error(ErrorCode::kOption, "streams were not kept: attend with keep_hidden");
  return state_->streams[static_cast<std::size_t>(layer)];
}

void ModelAttention::Map(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> weights) const {
  const ModelInfo& info = state_->model->architecture.info;
  CheckLayer(info, layer, head);
  CheckRows(row_begin, row_end, state_->length);
  const Kept& kept = state_->At(layer);
  const View<float, 4> q = AsHeads(kept.q, info.heads), k = AsHeads(kept.k, info.kv_heads);
  const Index rows = row_end - row_begin, group = head / (info.heads / info.kv_heads);
  const View<const float, 4> q_rows = {q.at(0, head, row_begin), {1, 1, rows, info.head_dim}, q.strides},
                             keys = {k.at(0, group), {1, 1, state_->length, info.head_dim}, k.strides};
  const AttentionProblem problem =
      models::ProblemOf(*state_->model, layer, q_rows, row_begin, keys, 0, state_->padding);
  AttentionResults results;
  results.weights = {
      weights.data, {1, 1, weights.shape[0], weights.shape[1]}, {0, 0, weights.strides[0], weights.strides[1]}};
  state_->model->backend.Attention(problem, results);
}

void ModelAttention::PooledMap(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> pooled) const {
  const Index length = state_->length, rows = row_end - row_begin, columns = pooled.shape[1];
  CheckRows(row_begin, row_end, length);
  if (pooled.shape[0] < 1 || columns < 1 || pooled.shape[0] > rows || columns > length) {
    throw Error(ErrorCode::kValue,
                "cannot pool " + ToString({rows, length}) + " weights to " + ToString({pooled.shape[0], columns}));
  }
  const Index strip_rows = std::clamp<Index>(kStripFloats / length, 1, rows);
  const Tensor strip({strip_rows, length});
  std::vector<double> sums(static_cast<std::size_t>(length), 0.0);
  Index part = 0;  // the row of `pooled` whose sums are being taken
  for (Index row = 0; row < rows; ++row) {
    const Index in_strip = row % strip_rows;
    if (in_strip == 0) {
      const Index count = std::min(strip_rows, rows - row);
      Map(layer, head, row_begin + row, row_begin + row + count, Rows(strip.view<2>(), 0, count));
    }
    const float* weights = strip.view<2>().at(in_strip);
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += double{weights[s]};
    const Index begin = PartBegin(part, rows, pooled.shape[0]), end = PartBegin(part + 1, rows, pooled.shape[0]);
    if (row + 1 < end) continue;
    for (Index j = 0; j < columns; ++j) {
      const Index left = PartBegin(j, length, columns), right = PartBegin(j + 1, length, columns);
      double sum = 0.0;
      for (Index s = left; s < right; ++s) sum += sums[static_cast<std::size_t>(s)];
      pooled(part, j) = static_cast<float>(sum / static_cast<double>((end - begin) * (right - left)));
    }
    std::ranges::fill(sums, 0.0);
    ++part;
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
    if (options.keep_hidden) state->streams.push_back(state->hidden.Clone());
    Kept& kept = state->layers.emplace_back();
    pass.RunLayer(i, state->hidden, kept, [&] {
      AttentionProblem problem = models::ProblemOf(*model_, i, AsHeads(kept.q, info().heads), 0,
                                                   AsHeads(kept.k, info().kv_heads), 0, state->padding);
      problem.v = AsHeads(kept.v, info().kv_heads);
      return problem;
    });
    if (!options.keep_values) kept.v = Tensor();
  }
  return ModelAttention(std::move(state));
}

ModelAttention Model::Attend(std::span<const std::int32_t> ids) const {
  ModelInput input;
  input.ids = ids;
  return Attend(input);
}

}  // namespace headlens
