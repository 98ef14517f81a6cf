// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "headlens/positions.h"

namespace headlens {
namespace {

Index RotatedWidth(const Rotary& rotary, Index head_dim) {
  const Index dim = rotary.dim ? rotary.dim : head_dim;
  if (dim < 0 || dim > head_dim || dim % 2 != 0) {
    throw Wrong(ErrorCode::kShape, "`rotary_dim`", "is", dim, {"an even number up to the head width, ", head_dim});
  }
  if (!(rotary.base > 0.0)) throw ValueError("`rotary_base`", rotary.base, "a positive number");
  if (!(rotary.scale > 0.0)) throw ValueError("`rotary_scale`", rotary.scale, "a positive number");
  // When the slowest and the fastest pair turn by finite angles at position 1, so do all others.
  const double slowest = std::pow(rotary.base, -1.0) / rotary.scale;
  if (!std::isfinite(slowest) || !std::isfinite(1.0 / rotary.scale)) {
    throw Error(ErrorCode::kValue, "`rotary_base` and `rotary_scale` are too small: they give infinite angles");
  }
  return dim;
}

}  // namespace

void ApplyRotary(const Backend& backend, const Rotary& rotary, DeviceView<float, 4> x, Index offset) {
  const Index dim = RotatedWidth(rotary, x.shape[3]), length = x.shape[2], half = dim / 2;
  if (x.shape[0] == 0 || x.shape[1] == 0 || length == 0) return;
  const Tensor cosine({length, half}), sine({length, half});
  for (Index i = 0; i < half; ++i) {
    const double rate = std::pow(rotary.base, -2.0 * static_cast<double>(i) / static_cast<double>(dim)) / rotary.scale;
    for (Index t = 0; t < length; ++t) {
      const double angle = static_cast<double>(t + offset) * rate;
      cosine.view<2>()(t, i) = static_cast<float>(std::cos(angle));
      sine.view<2>()(t, i) = static_cast<float>(std::sin(angle));
    }
  }
  for (Index b = 0; b < x.shape[0]; ++b) {
    const DeviceView<float, 3> rows = {x.at(b), {length, x.shape[1], dim}, {x.strides[2], x.strides[1], x.strides[3]}};
    backend.Rotary(rows, cosine.view<2>(), sine.view<2>(), rotary.pairs);
  }
}

void RotateAndCache(const Backend& backend, const std::optional<Rotary>& rotary, DeviceView<float, 4> q,
                    DeviceView<float, 4> k, KvCache* cache, AttentionProblem& problem) {
  const Index past = cache ? cache->length() : 0;
  const bool from_the_end = problem.mask.causal_alignment == CausalAlignment::kBottomRight;
  if (rotary) {
    // The cache does not hold this call's keys yet, so QueryPosition cannot give the position of the first query.
    ApplyRotary(backend, *rotary, q, past + (from_the_end ? k.shape[2] - q.shape[2] : 0));
    ApplyRotary(backend, *rotary, k, past);
  }
  if (!cache) return;
  cache->Append(k, problem.v.floats());
  cache->Place(problem, past + (from_the_end ? k.shape[2] - q.shape[2] : 0));
}

}  // namespace headlens
