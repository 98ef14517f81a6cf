// SPDX-License-Identifier: Apache-2.0
/// Decoding step by step, with the keys and values of earlier tokens.
#include "headlens/cache.h"
#include "models/pass.h"

namespace headlens {

using models::AsHeads;
using models::CheckLayer;
using models::CheckRows;
using models::Kept;
using models::LoadedModel;

struct Decoding::State {
  std::shared_ptr<const LoadedModel> model;
  std::vector<KvCache> caches;  // one for each layer
  std::vector<Tensor> queries;  // of the last step, for each layer
  Tensor hidden;                // of the last step
  Index length = 0;
};

Decoding::Decoding(std::unique_ptr<State> state) : state_(std::move(state)) {}
Decoding::Decoding(Decoding&&) noexcept = default;
Decoding& Decoding::operator=(Decoding&&) noexcept = default;
Decoding::~Decoding() = default;

Index Decoding::length() const { return state_->length; }
Index Decoding::rows() const { return state_->hidden.size() > 0 ? state_->hidden.shape()[0] : 0; }
Index Decoding::first_key() const { return state_->caches.front().first(); }

void Decoding::Step(std::span<const std::int32_t> ids) {
  const LoadedModel& model = *state_->model;
  ModelInput input;
  input.ids = ids;
  Tensor hidden = models::Embed(model, input, state_->length);
  const Index length = state_->length + hidden.shape()[0];
  if (model.architecture.rope) models::RequireFixedAngles(*model.architecture.rope, length);
  try {
    RunLayers(hidden);
  } catch (...) {
    Reset();  // only some layers have the new keys
    throw;
  }
  state_->hidden = std::move(hidden);
  state_->length = length;
}

void Decoding::RunLayers(Tensor& hidden) {
  const LoadedModel& model = *state_->model;
  const ModelInfo& info = model.architecture.info;
  const AttendOptions options;
  const models::Pass pass(model, options, state_->length, hidden.shape()[0]);
  state_->queries.clear();
  for (Index i = 0; i < info.layers; ++i) {
    Kept kept;
    KvCache& cache = state_->caches[static_cast<std::size_t>(i)];
    pass.RunLayer(i, hidden, kept, [&] {
      cache.Append(AsHeads(kept.k, info.kv_heads), AsHeads(kept.v, info.kv_heads));
      AttentionProblem problem =
          models::ProblemOf(model, i, AsHeads(kept.q, info.heads), state_->length, cache.k(), cache.first(), {});
      problem.v = cache.v();
      return problem;
    });
    state_->queries.push_back(std::move(kept.q));
  }
}

void Decoding::Map(Index layer, Index head, View<float, 2> weights) const {
  const ModelInfo& info = state_->model->architecture.info;
  CheckLayer(info, layer, head);
  if (rows() == 0) throw Error(ErrorCode::kOption, "there is no step yet whose map could be shown");
  const View<float, 4> q = AsHeads(state_->queries[static_cast<std::size_t>(layer)], info.heads);
  const KvCache& cache = state_->caches[static_cast<std::size_t>(layer)];
  KeyValueView keys = cache.k();
  const Index group = head / (info.heads / info.kv_heads);
  const View<const float, 4> queries = {q.at(0, head), {1, 1, rows(), info.head_dim}, q.strides};
  keys.data = keys.at(0, group);
  keys.shape[1] = 1;
  const AttentionProblem problem =
      models::ProblemOf(*state_->model, layer, queries, state_->length - rows(), keys, cache.first(), {});
  AttentionResults results;
  results.weights = {
      weights.data, {1, 1, weights.shape[0], weights.shape[1]}, {0, 0, weights.strides[0], weights.strides[1]}};
  state_->model->backend.Attention(problem, results);
}

Tensor Decoding::Logits(Index row_begin, Index row_end) const {
  CheckRows(row_begin, row_end, rows());
  return models::LogitsOf(*state_->model, Rows(state_->hidden.view<2>(), row_begin, row_end - row_begin));
}

void Decoding::Reset() {
  for (KvCache& cache : state_->caches) cache.Reset();
  state_->queries.clear();
  state_->hidden = Tensor();
  state_->length = 0;
}

Decoding Model::StartDecoding(DType keys_and_values) const {
  if (!info().causal) {
    throw Error(ErrorCode::kUnsupported,
                {"a ", info().family, " model cannot be run step by step: each token looks at those after it as well"});
  }
  auto state = std::make_unique<Decoding::State>();
  state->model = model_;
  for (Index i = 0; i < info().layers; ++i) state->caches.emplace_back(info().window, model_->backend, keys_and_values);
  return Decoding(std::move(state));
}

}  // namespace headlens
