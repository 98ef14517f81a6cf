// SPDX-License-Identifier: Apache-2.0
#include "models/request.h"

#include <algorithm>

#include "attention/masks/cells.h"
#include "attention/masks/mask_set.h"
#include "base/views.h"
#include "models/pass.h"

namespace headlens::models {
namespace {

void ExpectBelow(const Fragment& name, Index value, Index end) {
  if (value >= 0 && value < end) return;
  throw ValueError(name, value, {"0 to ", end - 1});
}

/// Checks patches of heads of a run with these sizes over `length` tokens.
void CheckPatches(const char* places_name, const char* outputs_name, const ModelInfo& info, const HeadPatches& patches,
                  Index length) {
  const Index count = patches.places.shape[0];
  const Shape got = SizesOf(patches.places), outputs = SizesOf(patches.outputs);
  if (patches.places && got != Shape{count, 3}) throw ShapeError(places_name, got, "(patches, 3)");
  if (outputs != Shape{count, patches.places ? info.head_dim : 0}) {
    throw ShapeError(outputs_name, outputs, {Shape{count, info.head_dim}, ": (patches, head_dim)"});
  }
  for (Index n = 0; n < count; ++n) {
    CheckLayer(info, patches.places(n, 0), patches.places(n, 1));
    ExpectBelow("the token of a patch", patches.places(n, 2), length);
  }
}

/// Checks the patches of an encoder–decoder's other heads.
void CheckOtherPatches(const LoadedModel& model, const ModelInput& input, const AttendOptions& options, Index length) {
  const HeadPatches &cross = options.cross_patches, &encoder = options.encoder_patches;
  if (model.encoder) {
    CheckPatches("`cross_patch_places`", "`cross_patch_outputs`", model.architecture.info, cross, length);
    CheckPatches("`encoder_patch_places`", "`encoder_patch_outputs`", model.encoder->architecture.info, encoder,
                 std::ssize(input.source));
  } else if (cross.places || cross.outputs || encoder.places || encoder.outputs) {
    throw Error(ErrorCode::kUnsupported,
                {"a ", model.architecture.info.family, " model has no heads of an encoder or that look at a source"});
  }
}

void CheckOptions(const ModelInfo& info, const AttendOptions& options, Index length) {
  const auto check_mask = [&](const char* name, const View<const float, 2>& mask, Index layers, Index heads) {
    const Shape expected = {layers, heads}, got = SizesOf(mask);
    if (mask && got != expected) throw ShapeError(name, got, {expected, ": (layers, heads)"});
  };
  check_mask("`head_mask`", options.head_mask, info.layers, info.heads);
  check_mask("`cross_head_mask`", options.cross_head_mask, info.encoder_layers > 0 ? info.layers : 0, info.heads);
  check_mask("`encoder_head_mask`", options.encoder_head_mask, info.encoder_layers, info.encoder_heads);
  for (const std::int32_t token : options.replaced_tokens) ExpectBelow("a token of `replaced_tokens`", token, length);
  if (options.replaced_layer != -1) ExpectBelow("`replaced_layer`", options.replaced_layer, info.layers);
  CheckPatches("`patch_places`", "`patch_outputs`", info, options.patches, length);
}

template <class T>
std::span<const T> CopyOf(std::span<const T> from, std::vector<T>& to) {
  to.assign(from.begin(), from.end());
  return to;
}

template <std::size_t Rank>
View<const float, Rank> CopyOf(const View<const float, Rank>& from, Tensor& to) {
  if (!from) return {};
  to = Tensor(SizesOf(from));
  Copy(from, to.view<Rank>());
  return to.view<Rank>();
}

/// Copies cells [1, H, T, T] whose heads may share one map, which is then copied once.
template <class T>
View<const T, 4> CopyOfCells(const View<const T, 4>& from, T* to) {
  const bool is_shared = from.strides[1] == 0;
  View<const T, 4> copy = DenseView<const T, 4>(to, {1, is_shared ? 1 : from.shape[1], from.shape[2], from.shape[3]});
  for (Index h = 0; h < copy.shape[1]; ++h)
    for (Index i = 0; i < from.shape[2]; ++i)
      for (Index j = 0; j < from.shape[3]; ++j) *to++ = from(0, h, i, j);
  copy.shape[1] = from.shape[1];
  copy.strides[0] = 0;
  if (is_shared) copy.strides[1] = 0;
  return copy;
}

/// The number of cells that CopyOfCells stores.
template <class T>
Index CellCount(const View<const T, 4>& cells) {
  return ElementCount({cells.strides[1] == 0 ? 1 : cells.shape[1], cells.shape[2], cells.shape[3]});
}

void ExpectCells(const ModelInfo& info, const Shape& got, Index length) {
  const Shape expected = {1, info.heads, length, length};
  if (got != expected) throw ShapeError("`attn_mask`", got, {expected, ": (1, heads, tokens, tokens)"});
}

}  // namespace

Request::Request(const LoadedModel& model, const ModelInput& input, const AttendOptions& options, Index length)
    : options_(options) {
  const ModelInfo& info = model.architecture.info;
  CheckOptions(info, options, length);
  CheckOtherPatches(model, input, options, length);
  if (options.visible) ExpectCells(info, SizesOf(options.visible), length);
  if (options.bias) ExpectCells(info, SizesOf(options.bias), length);
  CopyInput(input);
  CopyOptions(options);
  if (!diagonals_.empty()) ForbidDiagonals(length);
  DropWithoutEffect(model, length);
}

void Request::CopyInput(const ModelInput& input) {
  input_.ids = CopyOf(input.ids, ids_);
  input_.segments = CopyOf(input.segments, segments_);
  input_.padding = CopyOf(input.padding, padding_);
  input_.source = CopyOf(input.source, source_);
  input_.source_padding = CopyOf(input.source_padding, source_padding_);
  input_.image = CopyOf(input.image, image_);
}

void Request::CopyOptions(const AttendOptions& options) {
  options_.head_mask = CopyOf(options.head_mask, head_mask_);
  options_.cross_head_mask = CopyOf(options.cross_head_mask, cross_head_mask_);
  options_.encoder_head_mask = CopyOf(options.encoder_head_mask, encoder_head_mask_);
  options_.replaced_tokens = CopyOf(options.replaced_tokens, replaced_);
  options_.forbidden_diagonals = CopyOf(options.forbidden_diagonals, diagonals_);
  options_.normalizer.sinks = CopyOf(options.normalizer.sinks, sinks_);
  if (options.visible) {
    visible_.resize(static_cast<std::size_t>(CellCount(options.visible)));
    options_.visible = CopyOfCells(options.visible, visible_.data());
  }
  if (options.bias) {
    bias_ = Tensor({CellCount(options.bias)});
    options_.bias = CopyOfCells(options.bias, bias_.data());
  }
  options_.patches = patches_.Take(options.patches);
  options_.cross_patches = cross_patches_.Take(options.cross_patches);
  options_.encoder_patches = encoder_patches_.Take(options.encoder_patches);
}

HeadPatches Request::OwnPatches::Take(const HeadPatches& from) {
  if (!from.places) return {};
  for (Index n = 0; n < from.places.shape[0]; ++n)
    for (Index i = 0; i < 3; ++i) places.push_back(from.places(n, i));
  return {DenseView<const std::int32_t, 2>(places.data(), from.places.shape), CopyOf(from.outputs, outputs)};
}

/// Clears the cells of the diagonals, which are then part of the cells that are visible.
void Request::ForbidDiagonals(Index length) {
  if (!options_.visible) {
    visible_.assign(static_cast<std::size_t>(ElementCount({length, length})), 1);
    options_.visible = {visible_.data(), {1, 1, length, length}, {0, 0, length, 1}};
  }
  const auto maps = static_cast<Index>(visible_.size()) / (length * length);
  for (const Index diagonal : diagonals_) {
    const Index first = std::max<Index>(diagonal, 0), end = std::min(length, length + diagonal);
    for (Index map = 0; map < maps; ++map)
      for (Index i = first; i < end; ++i)
        visible_[static_cast<std::size_t>((map * length + i) * length + i - diagonal)] = 0;
  }
}

namespace {

/// A layer in which queries look at all keys that they look at in any layer.
Index WidestLayer(const ModelInfo& info) {
  const auto narrower = [](Index a, Index b) { return a != 0 && (b == 0 || a < b); };
  return std::ranges::max_element(info.windows, narrower) - info.windows.begin();
}

/// The keys that a model lets queries look at in some layer.
class OwnMask {
 public:
  OwnMask(const LoadedModel& model, Index length, std::span<const std::uint8_t> padding)
      : length_(length),
        problem_(ProblemOf(model, WidestLayer(model.architecture.info), Shaped(model.architecture.info.heads, length),
                           0, Shaped(model.architecture.info.kv_heads, length), 0, padding)),
        masks_(problem_) {}

  /// Returns true when `is_other(h, t, s)` holds for a cell that is not masked, of the first `maps` heads.
  template <class IsOther>
  bool Finds(Index maps, const IsOther& is_other) {
    std::vector<std::uint8_t> marks(static_cast<std::size_t>(length_));
    for (Index t = 0; t < length_; ++t) {
      const KeyRange range = masks_.Range(0, t);
      masks_.Mark({0, 0, t}, range, marks.data());
      for (Index s = range.begin; s < range.end; ++s)
        for (Index h = 0; h < maps && !marks[static_cast<std::size_t>(s - range.begin)]; ++h)
          if (is_other(h, t, s)) return true;
    }
    return false;
  }

 private:
  /// Sizes without elements: masks do not look at any.
  static DeviceView<const float, 4> Shaped(Index heads, Index length) {
    return DenseView(DevicePointer<const float>(), std::array<Index, 4>{1, heads, length, 1});
  }

  Index length_;
  AttentionProblem problem_;
  MaskSet masks_;
};

}  // namespace

/// Removes masks that hide no key and add nothing to a score, so that a run with them has the bits of one without.
void Request::DropWithoutEffect(const LoadedModel& model, Index length) {
  if (!options_.visible && !options_.bias) return;
  if (options_.bias) ExpectAddable(options_.bias);
  OwnMask own(model, length, input_.padding);
  const auto maps = [](const auto& cells) { return cells.strides[1] == 0 ? 1 : cells.shape[1]; };
  const auto& visible = options_.visible;
  const auto& bias = options_.bias;
  if (visible && !own.Finds(maps(visible), [&](Index h, Index t, Index s) { return visible(0, h, t, s) == 0; })) {
    options_.visible = {};
    visible_.clear();
  }
  if (bias && !own.Finds(maps(bias), [&](Index h, Index t, Index s) { return bias(0, h, t, s) != 0.0f; })) {
    options_.bias = {};
    bias_ = Tensor();
  }
}

void Request::Change(AttentionProblem& problem) const {
  const auto for_heads = [&](auto cells) {
    cells.shape[1] = problem.q.shape[1];
    return cells;
  };
  problem.normalizer = options_.normalizer;
  if (options_.visible) problem.mask.boolean = for_heads(options_.visible);
  if (options_.bias) problem.mask.additive = for_heads(options_.bias);
}

bool ReplacesValues(const AttendOptions& options, Index layer) {
  return !options.replaced_tokens.empty() && (options.replaced_layer < 0 || options.replaced_layer == layer);
}

/// Everything about a layer that differs between runs, as numbers. Each list has its length before it, so that no other
/// options have the same numbers.
std::vector<float> Request::NumbersOf(const ModelInfo& info, Index layer) const {
  std::vector<float> numbers;
  const auto add = [&](std::span<const std::int32_t> integers) {
    for (const std::int32_t integer : integers) numbers.push_back(static_cast<float>(integer));
  };
  for (Index head = 0; head < info.heads; ++head)
    numbers.push_back(options_.head_mask ? options_.head_mask(layer, head) : 1.0f);
  for (Index head = 0; head < info.heads && options_.cross_head_mask; ++head)
    numbers.push_back(options_.cross_head_mask(layer, head));
  const bool replaces = ReplacesValues(options_, layer);
  numbers.push_back(replaces ? static_cast<float>(replaced_.size()) : 0.0f);
  if (replaces) {
    numbers.push_back(static_cast<float>(options_.replacement));
    add(replaced_);
  }
  for (const HeadPatches* patches : {&options_.patches, &options_.cross_patches}) {
    const std::size_t at = numbers.size();
    numbers.push_back(0.0f);
    for (Index n = 0; n < patches->places.shape[0]; ++n) {
      if (patches->places(n, 0) != layer) continue;
      numbers[at] += 1.0f;
      add({patches->places.at(n), 3});
      const float* output = patches->outputs.at(n);
      numbers.insert(numbers.end(), output, output + info.head_dim);
    }
  }
  return numbers;
}

/// Returns true when no layer's scores differ.
bool Request::HasSameScores(const Request& other) const {
  const Normalizer &mine = options_.normalizer, &its = other.options_.normalizer;
  const auto is_same = [](const Tensor& a, const Tensor& b) { return std::ranges::equal(a.values(), b.values()); };
  return mine.kind == its.kind && mine.temperature == its.temperature && mine.top_k == its.top_k &&
         mine.sigmoid_bias == its.sigmoid_bias && is_same(sinks_, other.sinks_) && is_same(bias_, other.bias_) &&
         visible_ == other.visible_;
}

bool Request::IsTheSameForAllTokens() const {
  return !options_.visible && !options_.bias && options_.replaced_tokens.empty() && !options_.patches.places;
}

bool Request::HasSameEncoder(const Request& other) const {
  return HasSameScores(other) && std::ranges::equal(encoder_head_mask_.values(), other.encoder_head_mask_.values()) &&
         encoder_patches_.places == other.encoder_patches_.places &&
         std::ranges::equal(encoder_patches_.outputs.values(), other.encoder_patches_.outputs.values());
}

Index Request::FirstDifference(const ModelInfo& info, const Request& other) const {
  if (!HasSameScores(other)) return 0;
  Index layer = 0;
  while (layer < info.layers && NumbersOf(info, layer) == other.NumbersOf(info, layer)) ++layer;
  return layer;
}

}  // namespace headlens::models
