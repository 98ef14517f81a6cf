// SPDX-License-Identifier: Apache-2.0
#include "models/pass.h"

#include <algorithm>
#include <cmath>

#include "models/request.h"

namespace headlens::models {
namespace {

/// The fewest rows of a piece: with fewer, reading the weights would take longer than computing with them.
constexpr Index kLeastRows = 16;

DeviceView<float, 3> AsPositions(const DeviceView<float, 2>& rows, Index heads) {
  return DenseView(rows.data, std::array<Index, 3>{rows.shape[0], heads, rows.shape[1] / heads});
}

/// Heads [first, first + count) of a tensor [1, H, T, d].
template <class AnyView>
AnyView HeadsOf(const AnyView& all, Index first, Index count) {
  AnyView some = all;
  some.data = all.at(0, first);
  some.shape[1] = count;
  return some;
}
KeyValueView HeadsOf(const KeyValueView& all, Index first, Index count) {
  KeyValueView some = all.Part(0, first, 0, all.shape[2]);
  some.shape[1] = count;
  return some;
}

}  // namespace

void NormalizeHeads(const Backend& backend, const BlockForm& form, const Norm& norm, DeviceView<float, 2> rows) {
  if (!norm) return;
  const Index width = norm.weight.size(), count = rows.shape[0] * rows.shape[1] / width;
  const DeviceView<float, 2> each = DenseView(rows.data, std::array<Index, 2>{count, width});
  Normalize(backend, form, norm, each, each);
}

void CheckLayer(const ModelInfo& info, Index layer, Index head) {
  if (layer < 0 || layer >= info.layers) throw ValueError("`layer`", layer, {"0 to ", info.layers - 1});
  if (head < 0 || head >= info.heads) throw ValueError("`head`", head, {"0 to ", info.heads - 1});
}

void CheckRows(Index row_begin, Index row_end, Index rows) {
  if (row_begin >= 0 && row_end <= rows && row_begin <= row_end) return;
  throw ValueError("`rows`", {row_begin, " to ", row_end}, {"some of ", rows});
}

AttentionProblem ProblemOf(const LoadedModel& model, Index layer, DeviceView<const float, 4> q, Index first_query,
                           KeyValueView k, Index first_key, std::span<const std::uint8_t> padding) {
  const Architecture& a = model.architecture;
  AttentionProblem problem;
  problem.q = q;
  problem.k = k;
  problem.scale = a.ScaleOf(layer);
  problem.query_offset = first_query;
  problem.key_offset = first_key;
  problem.mask.causal = a.info.causal;
  if (const Index window = a.WindowOf(layer); window > 0) problem.mask.window_left = window - 1;
  problem.softcap = a.softcap;
  if (const Tensor& bias = model.parameters.position_bias; bias.size() > 0) {
    problem.position_bias.t5 = bias.view<2>();
    problem.position_bias.t5_bidirectional = !a.info.causal;
    problem.position_bias.t5_max_distance = a.bias_max_distance;
  }
  if (!padding.empty()) {
    const auto keys = static_cast<Index>(padding.size());
    problem.mask.key_padding = DenseView(padding.data(), std::array<Index, 2>{1, keys});
  }
  return problem;
}

AttentionProblem CrossProblemOf(const LoadedModel& model, DeviceView<const float, 4> q, KeyValueView k,
                                std::span<const std::uint8_t> padding) {
  AttentionProblem problem;
  problem.q = q;
  problem.k = k;
  problem.scale = model.architecture.attention_scale;
  if (!padding.empty())
    problem.mask.key_padding = DenseView(padding.data(), std::array<Index, 2>{1, static_cast<Index>(padding.size())});
  return problem;
}

void RequireLogits(const LoadedModel& model) {
  if (model.parameters.head) return;
  throw Error(ErrorCode::kUnsupported, {"this ", model.architecture.info.family,
                                        " model has no logits: its weights end with the last layer's output"});
}

Tensor UncappedLogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden) {
  RequireLogits(model);
  const Parameters& p = model.parameters;
  const BlockForm& form = model.architecture.block;
  DeviceTensor changed;
  if (p.final_norm) {
    changed = model.backend.Allocate(SizesOf(hidden));
    Normalize(model.backend, form, p.final_norm, hidden, changed.view<2>());
    hidden = changed.view<2>();
  }
  if (p.head->transform) {
    changed = Project(model.backend, hidden, *p.head->transform);
    Activate(model.backend, form.activation, changed.values(), {});
    Normalize(model.backend, form, p.head->transform_norm, changed.view<2>(), changed.view<2>());
    hidden = changed.view<2>();
  }
  const DeviceTensor projected = Project(model.backend, hidden, model.decoder());
  for (Index row = 0; p.head->bias.size() > 0 && row < projected.shape()[0]; ++row)
    model.backend.Add(Elements(Rows(projected.view<2>(), row, 1)), p.head->bias.values());
  return model.backend.ReadBack(projected)->Wait();
}

Tensor LogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden) {
  Tensor logits = UncappedLogitsOf(model, hidden);
  if (const double cap = double{model.architecture.logit_softcap}; cap > 0.0)
    for (float& logit : logits.values()) logit = static_cast<float>(cap * std::tanh(double{logit} / cap));
  return logits;
}

TokenRange SecondTokens(const LoadedModel& model, Index length) {
  return model.parameters.head->second_reads_mean ? TokenRange{model.architecture.Prefix(), length} : TokenRange{1, 2};
}

Tensor MeanRow(View<const float, 2> rows) {
  Tensor mean({1, rows.shape[1]});
  for (Index e = 0; e < rows.shape[1]; ++e) {
    double sum = 0.0;
    for (Index n = 0; n < rows.shape[0]; ++n) sum += double{rows(n, e)};
    mean.data()[e] = static_cast<float>(sum / static_cast<double>(rows.shape[0]));
  }
  return mean;
}

Tensor ClassLogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden) {
  const Head& head = *model.parameters.head;
  Tensor logits = LogitsOf(model, Rows(hidden, 0, 1));
  if (!head.second) return logits;
  const auto [begin, end] = SecondTokens(model, hidden.shape[0]);
  const DeviceTensor normal = model.backend.Allocate({end - begin, hidden.shape[1]});
  Normalize(model.backend, model.architecture.block, model.parameters.final_norm, Rows(hidden, begin, end - begin),
            normal.view<2>());
  const Tensor mean = MeanRow(model.backend.ReadBack(normal)->Wait().view<2>());
  Tensor other(logits.shape());
  model.backend.Linear(mean.view<2>(), *head.second, other.view<2>());
  model.backend.Finish();
  for (Index i = 0; i < logits.size(); ++i) logits.data()[i] = head.factor * (logits.data()[i] + other.data()[i]);
  return logits;
}

Pass::Pass(const LoadedModel& model, const AttendOptions& options, Index first_position, const DeviceTensor& hidden,
           Index first_layer, Index piece, Memory memory, Source source)
    : model_(model),
      options_(options),
      hidden_(hidden),
      piece_(piece),
      memory_(std::move(memory)),
      source_(std::move(source)),
      first_layer_(first_layer),
      layer_(first_layer) {
  const Architecture& a = model.architecture;
  const Index count = hidden.shape()[0];
  const auto angles_of = [&](const std::optional<Rope>& rope) {
    if (!rope) return Angles();
    RopeAngles angles = AnglesAt(*rope, first_position, count, first_position + count);
    return Angles{model.backend.Upload(std::move(angles.cosine)), model.backend.Upload(std::move(angles.sine))};
  };
  angles_ = angles_of(a.rope);
  local_angles_ = angles_of(a.local_rope);
}

double Pass::Next() {
  const Step step = StepOf(step_);
  (this->*step.run)(model_.parameters.layers[static_cast<std::size_t>(layer_)], next_);
  ++done_;
  if (++next_ == step.pieces) {
    next_ = 0;
    if (++step_ == steps()) {
      step_ = 0;
      ++layer_;
    }
  }
  Index all = 0;
  for (Index i = 0; i < steps(); ++i) all += StepOf(i).pieces;
  return static_cast<double>(done_) / static_cast<double>(all * (model_.architecture.info.layers - first_layer_));
}

/// The number of blocks of rows in a step that takes this many multiply-adds for each of them.
Index Pass::RowPieces(Index work_of_a_row) const {
  const Index rows = hidden_.shape()[0],
              strip = std::clamp(piece_ / work_of_a_row, kLeastRows, model_.backend.strip_rows());
  return (rows + strip - 1) / strip;
}

Pass::Step Pass::StepOf(Index step) const {
  const ModelInfo& info = model_.architecture.info;
  const Index width = info.hidden_size, queries = info.heads * info.head_dim, keys = info.kv_heads * info.head_dim,
              attentions = (info.kv_heads + GroupsTogether() - 1) / GroupsTogether();
  if (step == 0) return {RowPieces(width * (queries + 2 * keys)), &Pass::Project};
  if (step == 1) return {attentions, &Pass::Attend};
  if (step + 1 == steps()) {
    const Index matrices = IsGated(model_.architecture.block.activation) ? 3 : 2;
    return {RowPieces(width * (queries + matrices * model_.architecture.intermediate_size)), &Pass::Finish};
  }
  if (step == 2) return {RowPieces(2 * width * queries), &Pass::ProjectCross};
  return {attentions, &Pass::AttendCross};
}

/// The number of key/value heads whose attention is one piece.
Index Pass::GroupsTogether() const {
  const ModelInfo& info = model_.architecture.info;
  const Index rows = hidden_.shape()[0], work = 2 * rows * rows * info.head_dim * (info.heads / info.kv_heads);
  return std::clamp<Index>(piece_ / work, 1, info.kv_heads);
}

Pass::Part Pass::RowsOf(Index piece, Index pieces) const {
  const Index rows = hidden_.shape()[0], first = BlockBegin(piece, rows, pieces);
  return {first, BlockBegin(piece + 1, rows, pieces) - first};
}

void Pass::Project(const Layer& layer, Index piece) {
  const Backend& backend = model_.backend;
  const ModelInfo& info = model_.architecture.info;
  const BlockForm& form = model_.architecture.block;
  const Index length = hidden_.shape()[0];
  if (piece == 0) {
    kept_.q = backend.Allocate({length, layer.q->out_features()});
    kept_.k = backend.Allocate({length, layer.k->out_features()});
    kept_.v = backend.Allocate({length, layer.v->out_features()});
  }
  const auto [first, count] = RowsOf(piece, StepOf(0).pieces);
  DeviceTensor normal;
  DeviceView<const float, 2> x = Rows(hidden_.view<2>(), first, count);
  if (form.norm_first && layer.attention_norm) {
    normal = backend.Allocate(SizesOf(x));
    Normalize(backend, form, layer.attention_norm, x, normal.view<2>());
    x = normal.view<2>();
  }
  const DeviceView<float, 2> q = Rows(kept_.q.view<2>(), first, count), k = Rows(kept_.k.view<2>(), first, count);
  backend.Linear(x, *layer.q, q);
  backend.Linear(x, *layer.k, k);
  backend.Linear(x, *layer.v, Rows(kept_.v.view<2>(), first, count));
  NormalizeHeads(backend, form, layer.query_norm, q);
  NormalizeHeads(backend, form, layer.key_norm, k);
  const Rope* rope = model_.architecture.RopeOf(layer_);
  if (!rope) return;
  const Angles& angles = rope == &*model_.architecture.rope ? angles_ : local_angles_;
  const DeviceView<const float, 2> cosine = Rows(angles.cosine.view<2>(), first, count),
                                   sine = Rows(angles.sine.view<2>(), first, count);
  const auto rotated = [&](const DeviceView<float, 2>& rows, Index heads) {
    DeviceView<float, 3> positions = AsPositions(rows, heads);
    positions.shape[2] = rope->dim;
    return positions;
  };
  backend.Rotary(rotated(q, info.heads), cosine, sine, RotaryPairs::kHalf);
  backend.Rotary(rotated(k, info.kv_heads), cosine, sine, RotaryPairs::kHalf);
}

/// Puts zeros or the mean in the place of the values of some tokens.
void Pass::ReplaceValues() {
  const Index width = kept_.v.shape()[1];
  std::vector<float> row(static_cast<std::size_t>(width));
  if (options_.replacement == TokenReplacement::kMean) row = MeanValues();
  const std::array<Index, 4> one = {1, 1, 1, width};
  for (const std::int32_t token : options_.replaced_tokens)
    model_.backend.Copy(DenseView(row.data(), one), DenseView(kept_.v.view<2>().at(Index{token}), one));
}

/// The mean of the values over the tokens that are not padding; 0 when all are.
std::vector<float> Pass::MeanValues() const {
  const Tensor values = model_.backend.ReadBack(kept_.v)->Wait();
  const View<float, 2> v = values.view<2>();
  const View<const std::uint8_t, 2>& padding = problem_.mask.key_padding;
  std::vector<double> sums(static_cast<std::size_t>(v.shape[1]));
  Index count = 0;
  for (Index t = 0; t < v.shape[0]; ++t) {
    if (padding && padding(0, t)) continue;
    ++count;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double{v(t, static_cast<Index>(i))};
  }
  std::vector<float> mean(sums.size());
  for (std::size_t i = 0; i < sums.size() && count > 0; ++i)
    mean[i] = static_cast<float>(sums[i] / static_cast<double>(count));
  return mean;
}

/// Puts outputs that were given in the place of those of this layer's heads.
void Pass::PatchHeads(const HeadPatches& patches, const DeviceTensor& heads) {
  const Index d = model_.architecture.info.head_dim;
  const std::array<Index, 4> one = {1, 1, 1, d};
  for (Index n = 0; n < patches.places.shape[0]; ++n) {
    if (patches.places(n, 0) != layer_) continue;
    const auto to = heads.view<2>().at(Index{patches.places(n, 2)}, patches.places(n, 1) * d);
    model_.backend.Copy(DenseView(patches.outputs.at(n), one), DenseView(to, one));
  }
}

void Pass::BeginAttention(const Layer& layer) {
  problem_ = memory_(layer_, kept_);
  if (ReplacesValues(options_, layer_)) ReplaceValues();
  if (const auto& mask = options_.head_mask) {
    problem_.head_mask = {mask.at(layer_), {1, mask.shape[1]}, {0, mask.strides[1]}};
  }
  kept_.heads = model_.backend.Allocate({hidden_.shape()[0], layer.o->in_features()});
}

void Pass::Attend(const Layer& layer, Index piece) {
  if (piece == 0) BeginAttention(layer);
  AttendGroups(problem_, kept_.heads, piece);
}

void Pass::ProjectCross(const Layer& layer, Index piece) {
  const Backend& backend = model_.backend;
  const BlockForm& form = model_.architecture.block;
  if (piece == 0) {
    PatchHeads(options_.patches, kept_.heads);
    kept_.cross_q = backend.Allocate({hidden_.shape()[0], layer.cross_q->out_features()});
  }
  const auto [first, count] = RowsOf(piece, StepOf(2).pieces);
  const DeviceView<float, 2> stream = Rows(hidden_.view<2>(), first, count);
  AddHeads(layer, stream, first);
  DeviceTensor normal;
  DeviceView<const float, 2> x = stream;
  if (form.norm_first) {
    normal = backend.Allocate(SizesOf(x));
    Normalize(backend, form, layer.cross_attention_norm, x, normal.view<2>());
    x = normal.view<2>();
  }
  backend.Linear(x, *layer.cross_q, Rows(kept_.cross_q.view<2>(), first, count));
}

void Pass::AttendCross(const Layer& layer, Index piece) {
  if (piece == 0) {
    problem_ = source_(layer_, kept_);
    kept_.cross_heads = model_.backend.Allocate({hidden_.shape()[0], layer.cross_o->in_features()});
  }
  AttendGroups(problem_, kept_.cross_heads, piece);
}

/// Computes what some heads give into their columns of `all`.
void Pass::AttendGroups(const AttentionProblem& problem, const DeviceTensor& all, Index piece) {
  const ModelInfo& info = model_.architecture.info;
  const Index together = GroupsTogether(), group = piece * together, groups = std::min(together, info.kv_heads - group),
              members = info.heads / info.kv_heads, head = group * members, heads = groups * members;
  AttentionProblem part = problem;
  AttentionResults results;
  results.output = HeadsOf(AsHeads(all, info.heads), head, heads);
  part.q = HeadsOf(problem.q, head, heads);
  part.k = HeadsOf(problem.k, group, groups);
  part.v = HeadsOf(problem.v, group, groups);
  if (part.head_mask) part.head_mask = {part.head_mask.at(0, head), {1, heads}, part.head_mask.strides};
  if (part.mask.boolean) part.mask.boolean = HeadsOf(part.mask.boolean, head, heads);
  if (part.mask.additive) part.mask.additive = HeadsOf(part.mask.additive, head, heads);
  if (auto& sinks = part.normalizer.sinks) sinks = {sinks.at(head), {heads}, sinks.strides};
  if (auto& bias = part.position_bias.t5) bias = {bias.at(0, head), {bias.shape[0], heads}, bias.strides};
  model_.backend.Attention(part, results);
}

/// Adds to some rows of the stream what the heads write there, or in a layer that reads a source, what those heads do.
void Pass::AddHeads(const Layer& layer, DeviceView<float, 2> stream, Index first) {
  const Backend& backend = model_.backend;
  const BlockForm& form = model_.architecture.block;
  const bool is_cross = step_ > 2;
  const DeviceTensor& heads = is_cross ? kept_.cross_heads : kept_.heads;
  const LinearWeights& o = is_cross ? *layer.cross_o : *layer.o;
  const Norm& norm = is_cross ? layer.cross_attention_norm : layer.attention_norm;
  const DeviceTensor change = headlens::Project(backend, Rows(heads.view<2>(), first, stream.shape[0]), o);
  if (const Norm& output = layer.attention_output_norm; output && !is_cross)
    Normalize(backend, form, output, change.view<2>(), change.view<2>());
  backend.Add(Elements(stream), change.values());
  if (!form.norm_first) Normalize(backend, form, norm, stream, stream);
}

void Pass::Finish(const Layer& layer, Index piece) {
  const Backend& backend = model_.backend;
  const BlockForm& form = model_.architecture.block;
  if (piece == 0) {
    const bool is_cross = model_.encoder != nullptr;  // the layer's own heads have been patched before
    PatchHeads(is_cross ? options_.cross_patches : options_.patches, is_cross ? kept_.cross_heads : kept_.heads);
    kept_.feed_forward = options_.keep_parts ? backend.Allocate(hidden_.shape()) : DeviceTensor();
  }
  const auto [first, count] = RowsOf(piece, StepOf(step_).pieces);
  const DeviceView<float, 2> stream = Rows(hidden_.view<2>(), first, count);
  const auto kept = kept_.feed_forward ? Rows(kept_.feed_forward.view<2>(), first, count) : DeviceView<float, 2>();
  if (!form.parallel) {
    AddHeads(layer, stream, first);
    return RunFeedForwardStep(backend, form, layer, stream, kept);
  }
  const DeviceTensor change = headlens::Project(backend, Rows(kept_.heads.view<2>(), first, count), *layer.o);
  RunFeedForwardStep(backend, form, layer, stream, kept);
  backend.Add(Elements(stream), change.values());
}

}  // namespace headlens::models
