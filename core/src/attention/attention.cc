// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"

#include <algorithm>
#include <cmath>

#include "attention/masks/mask_set.h"
#include "attention/normalizers/registry.h"
#include "attention/positions/bias_table.h"
#include "base/checks.h"

namespace headlens {
namespace {

template <class AnyView>
void ExpectShape(const char* name, const AnyView& view, const decltype(view.shape)& expected, const char* why = "") {
  if (!view || view.shape == expected) return;
  throw ShapeError(Fragment::Name(name), SizesOf(view), {Shape(expected.begin(), expected.end()), why});
}

template <class AnyView>
void ExpectDenseRows(const char* name, const AnyView& view) {
  if (view && view.strides.back() != 1 && view.shape.back() > 1) {
    throw Wrong(ErrorCode::kShape, Fragment::Name(name), "has the last stride", view.strides.back(), "dense rows");
  }
}

void ExpectKeyValueType(const char* name, const KeyValueView& view) {
  if (view.dtype == DType::kF32 || view.dtype == DType::kBF16) return;
  throw DtypeError(Fragment::Name(name), ToString(view.dtype), "F32 or BF16");
}

void ValidateQkv(const AttentionProblem& p) {
  if (!p.q || !p.k) throw MissingError(ErrorCode::kShape, p.q ? "`k`" : "`q`");
  ExpectKeyValueType("k", p.k);
  ExpectKeyValueType("v", p.v);
  const auto& [batch, heads, queries, width] = p.q.shape;
  const Index kv_heads = p.k.shape[1];
  ExpectShape("k", p.k, {batch, kv_heads, p.k.shape[2], width}, ": the batch and head width of q");
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    throw ShapeError("`k`", SizesOf(p.k), {"a number of heads that divides the ", heads, " of `q`"});
  }
  if (width < 1) throw ShapeError("`q`", SizesOf(p.q), "a head width of at least 1");
  ExpectShape("v", p.v, {batch, kv_heads, p.k.shape[2], p.v.shape[3]}, ": the batch, heads and length of k");
  ExpectDenseRows("q", p.q);
  ExpectDenseRows("k", p.k);
  ExpectDenseRows("v", p.v);
}

void ValidateMask(const AttentionProblem& p) {
  if (p.mask.appended_keys < 0 || MaskableKeys(p) < 0) {
    throw Wrong(ErrorCode::kShape, "`appended_keys`", "is", p.mask.appended_keys, {"0 to the ", p.k.shape[2], " keys"});
  }
  for (const MaskRule* rule : MaskRules())
    if (rule->validate && rule->present(p.mask)) rule->validate(p);
}

void ValidateNumbers(const AttentionProblem& p) {
  if (!(p.dropout_p >= 0.0 && p.dropout_p <= 1.0)) {
    throw ValueError("`dropout_p`", p.dropout_p, "0 to 1");
  }
  if (!(p.softcap >= 0.0f) || !std::isfinite(p.softcap) || (p.softcap > 0.0f && !std::isfinite(1.0f / p.softcap))) {
    throw ValueError("`softcap`", double{p.softcap}, "a positive number, or 0 for none");
  }
  if (!std::isfinite(p.scale)) throw ValueError("`scale`", double{p.scale}, "a finite number");
  if (p.head_mask) {
    ExpectShape("head_mask", p.head_mask, {p.q.shape[0], p.q.shape[1]}, ": (batch, heads)");
    ExpectFinite("`head_mask`", p.head_mask);
  }
}

void ValidateResults(const AttentionProblem& p, const AttentionResults& r) {
  const Index batch = p.q.shape[0], heads = p.q.shape[1], queries = p.q.shape[2], keys = p.k.shape[2];
  const std::array<Index, 4> map = {batch, heads, queries, keys};
  const struct {
    const char* name;
    const DeviceView<float, 4> view;
  } maps[] = {{"weights", r.weights},
              {"dropout_mask", r.dropout_mask},
              {"dropped_weights", r.dropped_weights},
              {"scores", r.scores},
              {"scaled_scores", r.scaled_scores},
              {"capped_scores", r.capped_scores},
              {"biased_scores", r.biased_scores},
              {"masked_scores", r.masked_scores}};
  for (const auto& [name, view] : maps) {
    ExpectShape(name, view, map);
    ExpectDenseRows(name, view);
  }
  ExpectShape("mean_weights", r.mean_weights, {batch, queries, keys});
  ExpectDenseRows("mean_weights", r.mean_weights);
  ExpectShape("lse", r.lse, {batch, heads, queries});
  if (r.output) {
    if (!p.v) throw NeedsError(ErrorCode::kShape, "`output`", "`v`");
    ExpectShape("output", r.output, {batch, heads, queries, p.v.shape[3]});
    ExpectDenseRows("output", r.output);
  }
}

}  // namespace

KeyValueView::KeyValueView(Floats, const DeviceView<const float, 4>& view) : shape(view.shape), strides(view.strides) {
  if (const DevicePointer<const float>& from = view.data; from.storage) {
    data = {from.storage, from.first};
  } else {
    data = reinterpret_cast<const std::byte*>(from.address);
  }
}

void KeyValueView::CopyRow(Index b, Index g, Index s, float* row) const {
  const std::byte* from = at(b, g, s);
  const Index step = strides[3] * static_cast<Index>(ByteSize(dtype));
  for (Index i = 0; i < shape[3]; ++i) row[i] = LoadFloat(dtype, from + i * step);
}

KeyValueView KeyValueView::Part(Index b, Index g, Index first, Index count) const {
  KeyValueView part = *this;
  const Index elements = b * strides[0] + g * strides[1] + first * strides[2];
  part.data = data + (data.storage ? elements : Offset(b, g, first));
  part.shape = {1, 1, count, shape[3]};
  return part;
}

DeviceView<const float, 4> KeyValueView::floats() const {
  if (dtype != DType::kF32) {
    throw DtypeError("a view of keys or values", ToString(dtype), "F32");
  }
  if (data.storage) return {{data.storage, data.first}, shape, strides};
  return {reinterpret_cast<const float*>(data.address), shape, strides};
}

Tensor ToFloat(const KeyValueView& view) {
  Tensor tensor(Shape(view.shape.begin(), view.shape.end()));
  const View<float, 4> to = tensor.view<4>();
  for (Index b = 0; b < to.shape[0]; ++b)
    for (Index g = 0; g < to.shape[1]; ++g)
      for (Index s = 0; s < to.shape[2]; ++s) view.CopyRow(b, g, s, to.at(b, g, s));
  return tensor;
}

float DefaultScale(Index head_dim) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim))); }

void Validate(const AttentionProblem& problem, const AttentionResults& results) {
  ValidateQkv(problem);
  ValidateMask(problem);
  Validate(problem.position_bias, problem.q.shape[1]);
  Validate(problem.normalizer, problem.q.shape[1]);
  ValidateNumbers(problem);
  ValidateResults(problem, results);
}

Index KvHead(const AttentionProblem& problem, Index h) {
  const Index heads = problem.q.shape[1], kv_heads = problem.k.shape[1];
  return problem.gqa_order == GqaOrder::kBlock ? h / (heads / kv_heads) : h % kv_heads;
}

Index QueryPosition(const AttentionProblem& problem, Index t) {
  const bool from_the_end = problem.mask.causal_alignment == CausalAlignment::kBottomRight;
  return t + problem.query_offset + (from_the_end ? MaskableKeys(problem) - problem.q.shape[2] : 0);
}

Index KeyPosition(const AttentionProblem& problem, Index s) { return s + problem.key_offset; }

bool IsMasked(const AttentionProblem& problem, Index b, Index h, Index t, Index s) {
  if (s >= MaskableKeys(problem)) return false;
  MaskSet masks(problem);
  const KeyRange range = masks.Range(b, t);
  if (s < range.begin || s >= range.end) return true;
  std::uint8_t mark = 0;
  masks.Mark({b, h, t}, {s, s + 1}, &mark);
  return mark != 0;
}

}  // namespace headlens
