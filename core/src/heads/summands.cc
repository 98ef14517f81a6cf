// SPDX-License-Identifier: Apache-2.0
#include "heads/summands.h"

#include "base/checks.h"

namespace headlens::metrics {

Summands::Summands(const AttentionSummands& layer) : layer_(layer), maps_(CheckedMaps(layer.weights, layer.info)) {
  ExpectElements("`values`", layer.values);
  ExpectElements("`out_weight`", layer.out_weight);
  ExpectSizes("`values`", SizesOf(layer.values), {heads(), keys(), layer.values.shape[2]});
  ExpectSizes("`out_weight`", SizesOf(layer.out_weight), {width(), heads() * layer.values.shape[2]});
  valid_.assign(static_cast<std::size_t>(queries()), false);
  for (const HeadMap& map : maps_)
    for (const Index i : map.rows()) valid_[static_cast<std::size_t>(i)] = true;
  vectors_ = Matrix(heads(), width());
  weights_ = Matrix(queries(), heads());
}

bool Summands::SeekKey(Index j) {
  bool seen = false;
  for (Index h = 0; h < heads(); ++h) {
    const HeadMap& map = maps_[static_cast<std::size_t>(h)];
    for (const Index i : map.rows()) {
      weights_(i, h) = map.weight(i, j);
      seen = seen || weights_(i, h) > 0.0;
    }
  }
  if (!seen) return false;
  const Index value_width = layer_.values.shape[2];
  for (Index h = 0; h < heads(); ++h) {
    for (Index e = 0; e < width(); ++e) {
      double sum = 0.0;
      for (Index c = 0; c < value_width; ++c)
        sum += double{layer_.values(h, j, c)} * double{layer_.out_weight(e, h * value_width + c)};
      vectors_(h, e) = sum;
    }
    ExpectFinite({"what head ", h, " makes of key ", j}, vectors_.row(h));
  }
  return true;
}

void Summands::AddSummand(Index i, double scale, std::span<double> u) const {
  for (Index h = 0; h < heads(); ++h) {
    const double weight = scale * weights_(i, h);
    if (weight == 0.0) continue;
    const std::span<const double> vector = vectors_.row(h);
    for (std::size_t e = 0; e < u.size(); ++e) u[e] += weight * vector[e];
  }
}

}  // namespace headlens::metrics
