// SPDX-License-Identifier: Apache-2.0
#include "models/embedding.h"

#include <algorithm>

#include "base/views.h"

namespace headlens::models {
namespace {

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

/// Rows `rows` of a table on the host.
Tensor RowsOfTable(const LoadedModel& model, const LinearWeights& table, std::span<const std::int32_t> rows) {
  Tensor result({static_cast<Index>(rows.size()), table.in_features()});
  model.backend.CopyRows(table, rows, result.view<2>());
  model.backend.Finish();
  return result;
}

/// The projections of some patches without their bias, and CLS.
Tensor PatchRows(const LoadedModel& model, View<const float, 3> image, std::span<const std::int32_t> tokens) {
  const LinearWeights& weights = *model.parameters.patches;
  const Tensor patches = CutPatches(model.architecture.info, image),
               cls = model.backend.ReadBack(model.parameters.cls)->Wait();
  const Index width = weights.out_features(), inner = weights.in_features();
  Tensor rows({static_cast<Index>(tokens.size()), width});
  std::vector<float> taps(static_cast<std::size_t>(inner));
  for (Index e = 0; e < width; ++e) {
    weights.CopyRow(e, taps);
    for (std::size_t n = 0; n < tokens.size(); ++n) {
      double sum = 0.0;
      if (tokens[n] == 0) sum = double{cls.data()[e]};
      for (Index i = 0; tokens[n] > 0 && i < inner; ++i)
        sum += double{patches.view<2>()(tokens[n] - 1, i)} * double{taps[static_cast<std::size_t>(i)]};
      rows.view<2>()(static_cast<Index>(n), e) = static_cast<float>(sum);
    }
  }
  return rows;
}

}  // namespace

DeviceTensor Embed(const LoadedModel& model, const ModelInput& input, Index first_position) {
  const bool is_image = model.architecture.info.image_size > 0;
  DeviceTensor hidden = is_image ? EmbedImage(model, input) : EmbedTokens(model, input, first_position);
  if (const Norm& norm = model.parameters.embedding_norm) {
    Normalize(model.backend, model.architecture.block, norm, hidden.view<2>(), hidden.view<2>());
  }
  return hidden;
}

EmbeddingParts EmbeddingPartsOf(const LoadedModel& model, const ModelInput& input,
                                std::span<const std::int32_t> tokens) {
  const Parameters& p = model.parameters;
  const auto of_tokens = [&](std::span<const std::int32_t> all) {
    std::vector<std::int32_t> some;
    for (const std::int32_t token : tokens) some.push_back(all.empty() ? 0 : all[static_cast<std::size_t>(token)]);
    return some;
  };
  EmbeddingParts parts;
  parts.token = p.patches ? PatchRows(model, input.image, tokens) : RowsOfTable(model, *p.tokens, of_tokens(input.ids));
  if (p.segments) parts.segment = RowsOfTable(model, *p.segments, of_tokens(input.segments));
  if (p.positions.size() == 0) return parts;
  const Tensor all = model.backend.ReadBack(p.positions)->Wait();
  parts.position = Tensor(parts.token.shape());
  for (std::size_t n = 0; n < tokens.size(); ++n)
    std::copy_n(all.view<2>().at(Index{tokens[n]}), all.shape()[1], parts.position.view<2>().at(static_cast<Index>(n)));
  return parts;
}

}  // namespace headlens::models
