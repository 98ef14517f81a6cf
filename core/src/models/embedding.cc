// SPDX-License-Identifier: Apache-2.0
#include "models/embedding.h"

#include <algorithm>
#include <cmath>

#include "base/views.h"
#include "models/resize.h"

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

/// Rows `rows` of a table on the host.
Tensor RowsOfTable(const LoadedModel& model, const LinearWeights& table, std::span<const std::int32_t> rows) {
  Tensor result({static_cast<Index>(rows.size()), table.in_features()});
  model.backend.CopyRows(table, rows, result.view<2>());
  model.backend.Finish();
  return result;
}

/// The embeddings of tokens on the host.
Tensor TokenRows(const LoadedModel& model, std::span<const std::int32_t> ids) {
  Tensor rows = RowsOfTable(model, *model.parameters.tokens, ids);
  for (float& x : rows.values()) x *= model.architecture.embedding_scale;
  return rows;
}

/// The row of each token in the table of positions.
std::vector<Index> PositionRows(const Architecture& a, std::span<const std::int32_t> ids, Index first_position) {
  std::vector<Index> rows;
  Index next = first_position + a.padding_id + 1;
  for (const std::int32_t id : ids) rows.push_back(a.padding_id >= 0 && id == a.padding_id ? a.padding_id : next++);
  return rows;
}

/// Adds the positions, as many at a time as are neighbours in their table.
void AddPositions(const LoadedModel& model, std::span<const std::int32_t> ids, Index first_position,
                  const DeviceTensor& hidden) {
  const std::vector<Index> rows = PositionRows(model.architecture, ids, first_position);
  const DeviceView<float, 2> table = model.parameters.positions.view<2>();
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    for (end = begin + 1; end < rows.size() && rows[end] == rows[end - 1] + 1;) ++end;
    const auto count = static_cast<Index>(end - begin);
    model.backend.Add(Elements(Rows(hidden.view<2>(), static_cast<Index>(begin), count)),
                      Elements(Rows(table, rows[begin], count)));
  }
}

DeviceTensor EmbedTokens(const LoadedModel& model, const ModelInput& input, Index first_position) {
  const ModelInfo& info = model.architecture.info;
  const Parameters& p = model.parameters;
  CheckTokens(info, input, first_position);
  const auto length = static_cast<Index>(input.ids.size());
  const Backend& backend = model.backend;
  DeviceTensor hidden;
  if (model.architecture.embedding_scale == 1.0f) {
    hidden = backend.Allocate({length, info.hidden_size});
    backend.CopyRows(*p.tokens, input.ids, hidden.view<2>());
  } else {
    hidden = backend.Upload(TokenRows(model, input.ids));
  }
  if (p.positions.size() > 0) AddPositions(model, input.ids, first_position, hidden);
  if (p.segments) {
    const std::vector<std::int32_t> first(input.ids.size(), 0);
    const DeviceTensor segments = backend.Allocate(hidden.shape());
    backend.CopyRows(*p.segments, input.segments.empty() ? first : input.segments, segments.view<2>());
    backend.Add(hidden.values(), segments.values());
  }
  return hidden;
}

/// The numbers of rows and columns of an image's patches.
struct PatchCounts {
  Index rows, columns;
};

PatchCounts CountPatches(const ModelInfo& info, const View<const float, 3>& image) {
  return {image.shape[1] / info.patch_size, image.shape[2] / info.patch_size};
}

/// The patches as rows [rows · columns, channels · patch²], each in the order of the projection's weights.
Tensor CutPatches(const ModelInfo& info, View<const float, 3> image) {
  const Index patch = info.patch_size;
  const auto [rows, columns] = CountPatches(info, image);
  Tensor patches({rows * columns, info.channels * patch * patch});
  float* to = patches.data();
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < columns; ++column)
      for (Index c = 0; c < info.channels; ++c)
        for (Index y = 0; y < patch; ++y)
          for (Index x = 0; x < patch; ++x) *to++ = image(c, row * patch + y, column * patch + x);
  return patches;
}

void CheckImage(const Architecture& a, const ModelInput& input) {
  const ModelInfo& info = a.info;
  if (!input.image || !input.ids.empty()) throw InputError(input.ids.empty() ? "nothing" : "tokens", "an image");
  const Shape got = SizesOf(input.image), expected = {info.channels, info.image_size, info.image_size};
  const auto fits = [&](Index side) { return side > 0 && side <= info.image_size && side % info.patch_size == 0; };
  if (a.positions != ImagePositionsKind::kFixed) {
    if (got[0] == info.channels && fits(got[1]) && fits(got[2])) return;
    throw ShapeError("`image`", got, {"at most ", expected, ", with sides that are multiples of ", info.patch_size});
  }
  if (got != expected) throw ShapeError("`image`", got, {expected, ": (channels, image_size, image_size)"});
}

/// The positions [prefix + rows · columns, D] of an image's tokens.
Tensor ImagePositions(const LoadedModel& model, const PatchCounts& to) {
  const Architecture& a = model.architecture;
  Tensor all = model.backend.ReadBack(model.parameters.positions)->Wait();
  const Index side = a.info.image_size / a.info.patch_size, width = a.info.hidden_size;
  if (to.rows == side && to.columns == side) return all;
  const auto taps = [&](Index count) {
    return a.positions == ImagePositionsKind::kSmooth ? SmoothTaps(side, count, ResizeFilter::kCubic, 0, count)
                                                      : CubicTaps(side, count);
  };
  const std::vector<Taps> down = taps(to.rows), across = taps(to.columns);
  Tensor resized({a.Prefix() + to.rows * to.columns, width});
  std::copy_n(all.data(), a.Prefix() * width, resized.data());
  std::vector<double> sums(static_cast<std::size_t>(width));
  float* out = resized.data() + a.Prefix() * width;
  for (const Taps& row : down)
    for (const Taps& column : across) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t i = 0; i < row.weights.size(); ++i)
        for (std::size_t j = 0; j < column.weights.size(); ++j) {
          const Index y = row.first + static_cast<Index>(i), x = column.first + static_cast<Index>(j);
          const float* from = all.view<2>().at(a.Prefix() + y * side + x);
          for (double& sum : sums) sum += row.weights[i] * column.weights[j] * double{*from++};
        }
      out = std::transform(sums.begin(), sums.end(), out, [](double sum) { return static_cast<float>(sum); });
    }
  return resized;
}

DeviceTensor EmbedImage(const LoadedModel& model, const ModelInput& input) {
  const Architecture& a = model.architecture;
  const Parameters& p = model.parameters;
  CheckImage(a, input);
  if (!input.padding.empty() || !input.segments.empty()) {
    throw InputError("padding or segments", "an image");
  }
  const PatchCounts counts = CountPatches(a.info, input.image);
  const Index patch_count = counts.rows * counts.columns, width = a.info.hidden_size;
  DeviceTensor hidden = model.backend.Allocate({a.Prefix() + patch_count, width});
  const std::array<Index, 4> prefix = {1, 1, a.Prefix(), width};
  model.backend.Copy(DenseView(p.prefix.data(), prefix), DenseView(hidden.data(), prefix));
  const Tensor patches = CutPatches(a.info, input.image);
  model.backend.Linear(patches.view<2>(), *p.patches, Rows(hidden.view<2>(), a.Prefix(), patch_count));
  const DeviceTensor positions = model.backend.Upload(ImagePositions(model, counts));
  model.backend.Add(hidden.values(), positions.values());
  return hidden;
}

/// Tokens of the prefix, or the projections of patches, for some tokens of an image.
void AddPatches(const LoadedModel& model, View<const float, 3> image, std::span<const std::int32_t> tokens,
                EmbeddingParts& parts) {
  const LinearWeights& weights = *model.parameters.patches;
  const Tensor patches = CutPatches(model.architecture.info, image),
               prefix = model.backend.ReadBack(model.parameters.prefix)->Wait();
  const auto count = static_cast<Index>(tokens.size());
  const Index inner = weights.in_features(), width = weights.out_features(), first = model.architecture.Prefix();
  const std::span<const float> bias = weights.bias();
  const Tensor some({count, inner});
  parts.token = Tensor({count, width});
  parts.bias = Tensor({count, width});
  for (Index n = 0; n < count; ++n) {
    const Index patch = std::max<Index>(Index{tokens[static_cast<std::size_t>(n)]} - first, 0);
    std::copy_n(patches.view<2>().at(patch), inner, some.view<2>().at(n));
  }
  model.backend.Linear(some.view<2>(), weights, parts.token.view<2>());
  model.backend.Finish();
  for (Index n = 0; n < count; ++n) {
    const Index token = tokens[static_cast<std::size_t>(n)];
    const bool is_patch = token >= first;
    for (Index e = 0; e < width; ++e) {
      float &x = parts.token.view<2>()(n, e), &shift = parts.bias.view<2>()(n, e);
      shift = !is_patch || bias.empty() ? 0.0f : bias[static_cast<std::size_t>(e)];
      x = is_patch ? x - shift : prefix.view<2>()(token, e);
    }
  }
}

}  // namespace

void ExpectSource(const LoadedModel& model, const ModelInput& input) {
  if (model.encoder && input.source.empty())
    throw InputError("no source", {"one: a ", model.architecture.info.family, " model reads a source and a target"});
  if (!model.encoder && !input.source.empty())
    throw InputError("a source", {"none: a ", model.architecture.info.family, " model has no encoder"});
}

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
  if (p.patches) AddPatches(model, input.image, tokens, parts);
  if (p.tokens) parts.token = TokenRows(model, of_tokens(input.ids));
  if (p.segments) parts.segment = RowsOfTable(model, *p.segments, of_tokens(input.segments));
  if (p.positions.size() == 0) return parts;
  const Tensor all = p.patches ? ImagePositions(model, CountPatches(model.architecture.info, input.image))
                               : model.backend.ReadBack(p.positions)->Wait();
  const std::vector<Index> rows = PositionRows(model.architecture, input.ids, 0);
  parts.position = Tensor(parts.token.shape());
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const Index row = p.patches ? Index{tokens[n]} : rows[static_cast<std::size_t>(tokens[n])];
    std::copy_n(all.view<2>().at(row), all.shape()[1], parts.position.view<2>().at(static_cast<Index>(n)));
  }
  return parts;
}

}  // namespace headlens::models
