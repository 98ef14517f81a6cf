// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlens {
namespace {

template <class T, std::size_t Rank>
Shape ShapeOf(const View<T, Rank>& view) {
  return Shape(view.shape.begin(), view.shape.end());
}

template <class T, std::size_t Rank>
void ExpectShape(const char* name, const View<T, Rank>& view, const std::array<Index, Rank>& expected,
                 const char* why) {
  if (!view || view.shape == expected) return;
  throw Error(ErrorCode::kShape, std::string(name) + " has shape " + ToString(ShapeOf(view)) + ", expected " +
                                     ToString(Shape(expected.begin(), expected.end())) + why);
}

template <class T, std::size_t Rank>
void ExpectDenseRows(const char* name, const View<T, Rank>& view) {
  if (view && view.strides[Rank - 1] != 1 && view.shape[Rank - 1] > 1) {
    throw Error(ErrorCode::kShape, std::string(name) + " must have dense rows (last stride 1)");
  }
}

void ValidateQkv(const AttentionProblem& p) {
  if (!p.q || !p.k) throw Error(ErrorCode::kShape, "query and key must be given");
  const auto& [batch, heads, queries, width] = p.q.shape;
  const std::string both = "query " + ToString(ShapeOf(p.q)) + " and key " + ToString(ShapeOf(p.k));
  if (p.k.shape[0] != batch) throw Error(ErrorCode::kShape, both + " differ in batch size");
  if (p.k.shape[3] != width) throw Error(ErrorCode::kShape, both + " differ in head width (the last size)");
  const Index kv_heads = p.k.shape[1];
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    throw Error(ErrorCode::kShape, both + ": the number of query heads, " + std::to_string(heads) +
                                       ", must be a multiple of the key/value heads, " + std::to_string(kv_heads));
  }
  if (width < 1)
    throw Error(ErrorCode::kShape, "the head width must be at least 1, query has " + ToString(ShapeOf(p.q)));
  if (p.v) {
    ExpectShape("value", p.v, {batch, kv_heads, p.k.shape[2], p.v.shape[3]}, " (batch, heads and length of the key)");
  }
  ExpectDenseRows("query", p.q);
  ExpectDenseRows("key", p.k);
  ExpectDenseRows("value", p.v);
}

void ValidateMask(const AttentionProblem& p) {
  const Mask& mask = p.mask;
  const Index batch = p.q.shape[0], heads = p.q.shape[1], queries = p.q.shape[2];
  const Index keys = p.k.shape[2] - mask.appended_keys;
  if (mask.appended_keys < 0 || keys < 0) throw Error(ErrorCode::kShape, "more keys are appended than there are");
  const char* const why = " (batch, heads, queries, keys)";
  ExpectShape("attn_mask", mask.boolean, {batch, heads, queries, keys}, why);
  ExpectShape("attn_mask", mask.additive, {batch, heads, queries, keys}, why);
  ExpectShape("key_padding_mask", mask.key_padding, {batch, keys}, " (batch, keys)");
  ExpectShape("valid_lens", mask.valid_lens, {batch, queries}, " (batch, queries)");
  if (!mask.additive) return;
  for (Index b = 0; b < (mask.additive.strides[0] ? batch : std::min<Index>(batch, 1)); ++b)
    for (Index h = 0; h < (mask.additive.strides[1] ? heads : std::min<Index>(heads, 1)); ++h)
      for (Index t = 0; t < (mask.additive.strides[2] ? queries : std::min<Index>(queries, 1)); ++t)
        for (Index s = 0; s < keys; ++s) {
          const float value = mask.additive(b, h, t, s);
          if (std::isnan(value) || value == std::numeric_limits<float>::infinity()) {
            throw Error(ErrorCode::kValue, "attn_mask holds " + std::string(std::isnan(value) ? "NaN" : "+inf") +
                                               " at " + ToString(Shape{b, h, t, s}) +
                                               "; expected finite numbers or -inf");
          }
        }
}

void ValidateResults(const AttentionProblem& p, const AttentionResults& r) {
  const Index batch = p.q.shape[0], heads = p.q.shape[1], queries = p.q.shape[2], keys = p.k.shape[2];
  const std::array<Index, 4> map = {batch, heads, queries, keys};
  const struct {
    const char* name;
    const View<float, 4>& view;
  } maps[] = {{"weights", r.weights},
              {"dropped_weights", r.dropped_weights},
              {"scores", r.scores},
              {"scaled_scores", r.scaled_scores},
              {"capped_scores", r.capped_scores},
              {"biased_scores", r.biased_scores},
              {"masked_scores", r.masked_scores}};
  for (const auto& [name, view] : maps) {
    ExpectShape(name, view, map, "");
    ExpectDenseRows(name, view);
  }
  ExpectShape("mean_weights", r.mean_weights, {batch, queries, keys}, "");
  ExpectDenseRows("mean_weights", r.mean_weights);
  ExpectShape("lse", r.lse, {batch, heads, queries}, "");
  if (r.output) {
    if (!p.v) throw Error(ErrorCode::kShape, "an output needs a value");
    ExpectShape("output", r.output, {batch, heads, queries, p.v.shape[3]}, "");
    ExpectDenseRows("output", r.output);
  }
}

}  // namespace

float DefaultScale(Index head_dim) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim))); }

void Validate(const AttentionProblem& problem, const AttentionResults& results) {
  ValidateQkv(problem);
  ValidateMask(problem);
  ValidateResults(problem, results);
  if (!(problem.dropout_p >= 0.0 && problem.dropout_p <= 1.0)) {
    throw Error(ErrorCode::kValue, "dropout_p must be between 0 and 1, got " + std::to_string(problem.dropout_p));
  }
  if (!(problem.softcap >= 0.0f) || !std::isfinite(problem.softcap)) {
    throw Error(ErrorCode::kValue, "softcap must be positive, or 0 for none, got " + std::to_string(problem.softcap));
  }
  if (!std::isfinite(problem.scale)) throw Error(ErrorCode::kValue, "scale must be a finite number");
}

Index KvHead(const AttentionProblem& problem, Index h) {
  const Index heads = problem.q.shape[1], kv_heads = problem.k.shape[1];
  return problem.gqa_order == GqaOrder::kBlock ? h / (heads / kv_heads) : h % kv_heads;
}

Index VisibleKeys(const AttentionProblem& problem, Index b, Index t) {
  const Mask& mask = problem.mask;
  const Index keys = problem.k.shape[2] - mask.appended_keys;
  Index visible = keys;
  if (mask.causal) {
    const Index shift = mask.causal_alignment == CausalAlignment::kBottomRight ? keys - problem.q.shape[2] : 0;
    visible = std::min(visible, t + mask.query_offset + shift + 1);
  }
  if (mask.valid_lens) visible = std::min<Index>(visible, mask.valid_lens(b, t));
  return std::max<Index>(visible, 0);
}

bool IsMasked(const AttentionProblem& problem, Index b, Index h, Index t, Index s) {
  const Mask& mask = problem.mask;
  if (s >= problem.k.shape[2] - mask.appended_keys) return false;
  if (s >= VisibleKeys(problem, b, t)) return true;
  if (mask.key_padding && mask.key_padding(b, s)) return true;
  if (mask.boolean && (mask.boolean(b, h, t, s) != 0) != mask.boolean_keeps) return true;
  return mask.additive && mask.additive(b, h, t, s) == -std::numeric_limits<float>::infinity();
}

}  // namespace headlens
