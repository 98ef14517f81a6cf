// SPDX-License-Identifier: Apache-2.0
/// Decoding step by step, with the keys and values of earlier tokens.
#include <algorithm>

#include "attention/normalizers/registry.h"
#include "headlens/cache.h"
#include "models/embedding.h"
#include "models/run.h"

namespace headlens {

using models::AsHeads;
using models::CheckLayer;
using models::CheckRows;
using models::Kept;
using models::LoadedModel;

struct Decoding::State {
  std::shared_ptr<const LoadedModel> model;
  std::vector<KvCache> caches;        // of each layer
  std::vector<DeviceTensor> queries;  // of each layer, of the last step
  DeviceTensor hidden;                // of the last step
  Index length = 0;
  /// The keys and values of the source in each layer of an encoder–decoder, and the queries of the last step.
  std::vector<DeviceTensor> cross_keys, cross_values, cross_queries;
  std::vector<std::uint8_t> source_padding;
  std::unique_ptr<const models::Request> changes;  // of every step

  const AttendOptions& options() const { return changes->options(); }

  /// The problem of queries whose first token is `first`.
  AttentionProblem ProblemOf(Index layer, const DeviceTensor& of_queries, Index first) const {
    const KvCache& cache = caches[static_cast<std::size_t>(layer)];
    AttentionProblem problem = models::ProblemOf(*model, layer, AsHeads(of_queries, model->architecture.info.heads),
                                                 first, cache.k(), cache.first(), {});
    problem.normalizer = options().normalizer;
    return problem;
  }

  AttentionProblem CrossProblemOf(Index layer, const DeviceTensor& of_queries) const {
    const Index heads = model->architecture.info.heads;
    AttentionProblem problem =
        models::CrossProblemOf(*model, AsHeads(of_queries, heads),
                               AsHeads(cross_keys[static_cast<std::size_t>(layer)], heads), source_padding);
    problem.normalizer = options().normalizer;
    if (const auto& mask = options().cross_head_mask)
      problem.head_mask = {mask.at(layer), {1, mask.shape[1]}, {0, mask.strides[1]}};
    return problem;
  }
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
  DeviceTensor hidden = models::Embed(model, input, state_->length);
  const Index length = state_->length + hidden.shape()[0];
  for (const auto& rope : {model.architecture.rope, model.architecture.local_rope})
    if (rope) models::RequireFixedAngles(*rope, length);
  try {
    RunLayers(hidden);
  } catch (...) {
    Reset();  // only some layers have the new keys
    throw;
  }
  state_->hidden = std::move(hidden);
  state_->length = length;
}

void Decoding::RunLayers(const DeviceTensor& hidden) {
  const LoadedModel& model = *state_->model;
  const ModelInfo& info = model.architecture.info;
  models::Pass pass(
      model, state_->options(), state_->length, hidden, 0, AttendSteps::kWhole,
      [&](Index layer, const Kept& kept) {
        KvCache& cache = state_->caches[static_cast<std::size_t>(layer)];
        cache.Append(AsHeads(kept.k, info.kv_heads), AsHeads(kept.v, info.kv_heads));
        AttentionProblem problem = state_->ProblemOf(layer, kept.q, state_->length);
        problem.v = cache.v();
        return problem;
      },
      [&](Index layer, const Kept& kept) {
        AttentionProblem problem = state_->CrossProblemOf(layer, kept.cross_q);
        problem.v = AsHeads(state_->cross_values[static_cast<std::size_t>(layer)], info.heads);
        return problem;
      });
  state_->queries.clear();
  state_->cross_queries.clear();
  for (Index layer = 0; layer < info.layers; layer = pass.layer()) {
    pass.Next();
    if (pass.layer() == layer) continue;
    state_->queries.push_back(std::move(pass.kept().q));
    state_->cross_queries.push_back(std::move(pass.kept().cross_q));
  }
}

void Decoding::RequireStep(Index layer, Index head) const {
  CheckLayer(state_->model->architecture.info, layer, head);
  if (rows() == 0) throw Error(ErrorCode::kOption, "there is no step yet whose map could be shown");
}

Index Decoding::source_length() const { return state_->cross_values.empty() ? 0 : state_->cross_values[0].shape()[0]; }

void Decoding::CrossMap(Index layer, Index head, DeviceView<float, 2> weights) const {
  if (!state_->model->encoder) {
    throw Error(ErrorCode::kUnsupported,
                {"a ", state_->model->architecture.info.family, " model has no attention to a source"});
  }
  RequireStep(layer, head);
  const AttentionProblem problem =
      state_->CrossProblemOf(layer, state_->cross_queries[static_cast<std::size_t>(layer)]);
  AttentionMaps(problem, state_->model->backend).Map(0, head, {}, weights);
}

void Decoding::Map(Index layer, Index head, DeviceView<float, 2> weights) const {
  RequireStep(layer, head);
  const AttentionProblem problem =
      state_->ProblemOf(layer, state_->queries[static_cast<std::size_t>(layer)], state_->length - rows());
  AttentionMaps(problem, state_->model->backend).Map(0, head, {}, weights);
}

Tensor Decoding::Logits(Index row_begin, Index row_end) const {
  CheckRows(row_begin, row_end, rows());
  return models::LogitsOf(*state_->model, Rows(state_->hidden.view<2>(), row_begin, row_end - row_begin));
}

void Decoding::Reset() {
  for (KvCache& cache : state_->caches) cache.Reset();
  state_->queries.clear();
  state_->cross_queries.clear();
  state_->hidden = {};
  state_->length = 0;
}

namespace {

/// Throws for changes that steps do not have, and leaves out what is kept of a run.
AttendOptions ChangesOfSteps(const AttendOptions& options) {
  if (!options.replaced_tokens.empty() || options.visible || options.bias || !options.forbidden_diagonals.empty() ||
      options.patches.places || options.cross_patches.places || options.encoder_patches.places) {
    throw Error(ErrorCode::kUnsupported,
                "a text that is run step by step takes head masks and a normaliser alone of the changes of a run");
  }
  AttendOptions changes;
  changes.head_mask = options.head_mask;
  changes.cross_head_mask = options.cross_head_mask;
  changes.encoder_head_mask = options.encoder_head_mask;
  changes.normalizer = options.normalizer;
  return changes;
}

}  // namespace

Decoding Model::StartDecoding(DType keys_and_values, const ModelInput& source, const AttendOptions& options) const {
  if (!info().causal) {
    throw Error(ErrorCode::kUnsupported,
                {"a ", info().family, " model cannot be run step by step: each token looks at those after it as well"});
  }
  auto state = std::make_unique<Decoding::State>();
  state->model = model_;
  const AttendOptions changes = ChangesOfSteps(options);
  Validate(changes.normalizer, info().heads);
  state->changes = std::make_unique<const models::Request>(*model_, ModelInput(), changes, 0);
  // All layers keep the same tokens, so that each map has the same keys: all of them, unless all have one window.
  const std::vector<Index>& windows = info().windows;
  const bool is_same = !windows.empty() && std::ranges::count(windows, windows.front()) == std::ssize(windows);
  const Index window = is_same ? windows.front() : 0;
  for (Index i = 0; i < info().layers; ++i) state->caches.emplace_back(window, model_->backend, keys_and_values);
  models::ExpectSource(*model_, source);
  if (!model_->encoder) return Decoding(std::move(state));
  ModelInput input;
  input.ids = source.source;
  input.padding = source.source_padding;
  AttendOptions of_encoder;
  of_encoder.normalizer = changes.normalizer;
  of_encoder.head_mask = changes.encoder_head_mask;
  const DeviceTensor rows = Model(model_->encoder).Attend(input, of_encoder).run().Output();
  for (const models::Layer& layer : model_->parameters.layers) {
    state->cross_keys.push_back(Project(model_->backend, rows.view<2>(), *layer.cross_k));
    state->cross_values.push_back(Project(model_->backend, rows.view<2>(), *layer.cross_v));
  }
  state->source_padding.assign(source.source_padding.begin(), source.source_padding.end());
  return Decoding(std::move(state));
}

}  // namespace headlens
