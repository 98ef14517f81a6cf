// SPDX-License-Identifier: Apache-2.0
#include "models/pass.h"

#include <algorithm>

namespace headlens::models {
namespace {

DeviceView<float, 3> AsPositions(const DeviceTensor& rows, Index heads) {
  return DenseView(rows.data(), std::array<Index, 3>{rows.shape()[0], heads, rows.shape()[1] / heads});
}

Error InputError(const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kValue, "the input", "has", got, expected);
}

void CheckIds(const char* name, std::span<const std::int32_t> ids, Index below) {
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] >= 0 && ids[t] < below) continue;
    throw ValueError({name, " ", t}, ids[t], {"0 to ", below - 1});
  }
}

void CheckTokens(const ModelInfo& info, const ModelInput& input, Index first_position) {
  const auto length = static_cast<Index>(input.ids.size());
  if (input.image) throw InputError("an image", "tokens");
  if (length < 1 || first_position + length > info.max_positions) {
    throw InputError({first_position + length, " tokens"},
                     {"1 to ", info.max_positions, ", the model's max_position_embeddings"});
  }
  CheckIds("token", input.ids, info.vocab_size);
  if (!input.segments.empty() && info.segments == 0) {
    throw InputError("segments", "none: the model has no kinds of segments");
  }
  const auto check_length = [&](const char* name, std::size_t count) {
    if (count == 0 || count == input.ids.size()) return;
    throw Wrong(ErrorCode::kShape, Fragment::Name(name), "has", {count, " values"}, {length, ", one for each token"});
  };
  check_length("segments", input.segments.size());
  check_length("padding", input.padding.size());
  CheckIds("segment", input.segments, info.segments);
}

DeviceTensor EmbedTokens(const LoadedModel& model, const ModelInput& input, Index first_position) {
  const ModelInfo& info = model.architecture.info;
  const Parameters& p = model.parameters;
  CheckTokens(info, input, first_position);
  const auto length = static_cast<Index>(input.ids.size());
  const Backend& backend = model.backend;
  DeviceTensor hidden = backend.Allocate({length, info.hidden_size});
  backend.CopyRows(*p.tokens, input.ids, hidden.view<2>());
  if (p.positions.size() > 0)
    backend.Add(hidden.values(), Elements(Rows(p.positions.view<2>(), first_position, length)));
  if (p.segments) {
    const std::vector<std::int32_t> first(input.ids.size(), 0);
    const DeviceTensor segments = backend.Allocate(hidden.shape());
    backend.CopyRows(*p.segments, input.segments.empty() ? first : input.segments, segments.view<2>());
    backend.Add(hidden.values(), segments.values());
  }
  return hidden;
}

/// The patches as rows [side², channels · patch²], each in the order of the projection's weights.
Tensor CutPatches(const ModelInfo& info, View<const float, 3> image) {
  const Index patch = info.patch_size, side = info.image_size / patch;
  Tensor patches({side * side, info.channels * patch * patch});
  float* to = patches.data();
  for (Index row = 0; row < side; ++row)
    for (Index column = 0; column < side; ++column)
      for (Index c = 0; c < info.channels; ++c)
        for (Index y = 0; y < patch; ++y)
          for (Index x = 0; x < patch; ++x) *to++ = image(c, row * patch + y, column * patch + x);
  return patches;
}

DeviceTensor EmbedImage(const LoadedModel& model, const ModelInput& input) {
  const ModelInfo& info = model.architecture.info;
  const Parameters& p = model.parameters;
  if (!input.image || !input.ids.empty()) throw InputError(input.ids.empty() ? "nothing" : "tokens", "an image");
  const Shape expected = {info.channels, info.image_size, info.image_size};
  if (SizesOf(input.image) != expected) {
    throw ShapeError("`image`", SizesOf(input.image), {expected, ": (channels, image_size, image_size)"});
  }
  if (!input.padding.empty() || !input.segments.empty()) {
    throw InputError("padding or segments", "an image");
  }
  DeviceTensor hidden = model.backend.Allocate({info.max_positions, info.hidden_size});
  const std::array<Index, 4> one = {1, 1, 1, info.hidden_size};
  model.backend.Copy(DenseView(p.cls.data(), one), DenseView(hidden.data(), one));
  const Tensor patches = CutPatches(info, input.image);
  model.backend.Linear(patches.view<2>(), *p.patches, Rows(hidden.view<2>(), 1, info.max_positions - 1));
  model.backend.Add(hidden.values(), p.positions.values());
  return hidden;
}

}  // namespace

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
  problem.scale = a.scale_by_inverse_layer ? a.attention_scale / static_cast<float>(layer + 1) : a.attention_scale;
  problem.query_offset = first_query;
  problem.key_offset = first_key;
  problem.mask.causal = a.info.causal;
  if (a.info.window > 0) problem.mask.window_left = a.info.window - 1;
  if (!padding.empty()) {
    const auto keys = static_cast<Index>(padding.size());
    problem.mask.key_padding = DenseView(padding.data(), std::array<Index, 2>{1, keys});
  }
  return problem;
}

DeviceTensor Embed(const LoadedModel& model, const ModelInput& input, Index first_position) {
  const bool is_image = model.architecture.info.image_size > 0;
  DeviceTensor hidden = is_image ? EmbedImage(model, input) : EmbedTokens(model, input, first_position);
  if (const Norm& norm = model.parameters.embedding_norm) {
    Normalize(model.backend, model.architecture.block, norm, hidden.view<2>(), hidden.view<2>());
  }
  return hidden;
}

void RequireLogits(const LoadedModel& model) {
  if (model.parameters.head) return;
  throw Error(ErrorCode::kUnsupported, {"this ", model.architecture.info.family,
                                        " model has no logits: its weights end with the last layer's output"});
}

Tensor LogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden) {
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
  const DeviceTensor logits = Project(model.backend, hidden, model.decoder());
  for (Index row = 0; p.head->bias.size() > 0 && row < logits.shape()[0]; ++row)
    model.backend.Add(Elements(Rows(logits.view<2>(), row, 1)), p.head->bias.values());
  return model.backend.ReadBack(logits)->Wait();
}

void Pass::ProjectHeads(Index index, const Layer& layer, DeviceView<const float, 2> x, Kept& kept) const {
  const ModelInfo& info = model_.architecture.info;
  kept.q = Project(model_.backend, x, *layer.q);
  kept.k = Project(model_.backend, x, *layer.k);
  kept.v = Project(model_.backend, x, *layer.v);
  if (model_.architecture.rope) {
    const DeviceView<float, 2> cosine = cosine_.view<2>(), sine = sine_.view<2>();
    model_.backend.Rotary(AsPositions(kept.q, info.heads), cosine, sine, RotaryPairs::kHalf);
    model_.backend.Rotary(AsPositions(kept.k, info.kv_heads), cosine, sine, RotaryPairs::kHalf);
  }
  const bool zeroed = options_.zeroed_token >= 0 && (options_.zeroed_layer < 0 || options_.zeroed_layer == index);
  if (!zeroed) return;
  const std::array<Index, 4> row = {1, 1, 1, kept.v.shape()[1]};
  const std::vector<float> zeros(static_cast<std::size_t>(row[3]));
  model_.backend.Copy(DenseView(zeros.data(), row), DenseView(kept.v.view<2>().at(options_.zeroed_token), row));
}

}  // namespace headlens::models
