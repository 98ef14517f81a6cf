// SPDX-License-Identifier: Apache-2.0
/// Norms of what the weights carry: maps weighted by values, the summands of a layer's output, and the mixing ratio.
#include <algorithm>

#include "base/checks.h"
#include "headlens/attribution.h"
#include "heads/summands.h"

namespace headlens {
namespace {

using metrics::Summands;

/// The norms of the rows of `vectors`, with 0 for keys that no valid row may look at, since those may hold anything.
std::vector<double> NormsOfKeys(const HeadMap& map, const View<const float, 2>& vectors) {
  std::vector<double> norms(static_cast<std::size_t>(map.keys()));
  for (Index j = 0; j < map.keys(); ++j) {
    if (std::none_of(map.rows().begin(), map.rows().end(), [&](Index i) { return map.Sees(i, j); })) continue;
    double sum = 0.0;
    for (Index e = 0; e < vectors.shape[1]; ++e) sum += double{vectors(j, e)} * double{vectors(j, e)};
    norms[static_cast<std::size_t>(j)] = std::sqrt(sum);
  }
  metrics::ExpectFinite("the norm of a key's vector", std::span(norms));
  return norms;
}

/// A[i,j] · factors[j]
Matrix ScaledColumns(const HeadMap& map, std::span<const double> factors) {
  Matrix result(map.queries(), map.keys());
  for (const Index i : map.rows())
    for (Index j = 0; j < map.keys(); ++j) result(i, j) = map.weight(i, j) * factors[static_cast<std::size_t>(j)];
  return result;
}

std::vector<double> CheckedNorms(std::string_view what, const HeadMap& map, const View<const float, 2>& vectors) {
  metrics::ExpectElements(what, vectors);
  ExpectSizes(what, SizesOf(vectors), {map.keys(), vectors.shape[1]});
  return NormsOfKeys(map, vectors);
}

/// Applies a layer norm of y = u + v to both parts, in place: u ← (u − mean(u)) · γ / √(var(y) + eps), and v likewise.
void Linearise(std::span<double> u, std::span<double> v, const MixingOptions& options) {
  const auto width = static_cast<double>(u.size());
  double mean_u = 0.0, mean_v = 0.0, variance = 0.0;
  for (std::size_t e = 0; e < u.size(); ++e) {
    mean_u += u[e] / width;
    mean_v += v[e] / width;
  }
  for (std::size_t e = 0; e < u.size(); ++e) {
    u[e] -= mean_u;
    v[e] -= mean_v;
    variance += (u[e] + v[e]) * (u[e] + v[e]) / width;
  }
  const double scale =
      variance + options.layer_norm_eps > 0.0 ? 1.0 / std::sqrt(variance + options.layer_norm_eps) : 0.0;
  for (std::size_t e = 0; e < u.size(); ++e) {
    u[e] *= scale * double{options.layer_norm[e]};
    v[e] *= scale * double{options.layer_norm[e]};
  }
}

void CheckOptions(const Summands& layer, const MixingOptions& options) {
  if (layer.queries() != layer.keys()) {
    throw Wrong(ErrorCode::kShape, "`weights`", "have", {layer.queries(), " queries and ", layer.keys(), " keys"},
                "as many of both for a mixing ratio");
  }
  if (options.residual) ExpectSizes("`residual`", SizesOf(options.residual), {layer.queries(), layer.width()});
  if (!options.layer_norm.empty())
    ExpectSizes("`layer_norm`", {static_cast<Index>(options.layer_norm.size())}, {layer.width()});
  metrics::ExpectFinite("`layer_norm`", options.layer_norm);
  if (!(options.layer_norm_eps >= 0.0) || !std::isfinite(options.layer_norm_eps)) {
    throw ValueError("`layer_norm_eps`", options.layer_norm_eps, "0 or more");
  }
}

}  // namespace

Matrix ValueWeighted(View<const float, 2> weights, View<const float, 2> values, const MapInfo& info) {
  const HeadMap map(weights, info);
  std::vector<double> norms = CheckedNorms("`values`", map, values);
  const double largest = *std::max_element(norms.begin(), norms.end());
  for (double& norm : norms) norm = largest > 0.0 ? norm / largest : 0.0;
  return ScaledColumns(map, norms);
}

Tensor TransformedValues(View<const float, 2> values, View<const float, 2> out_weight, Index head) {
  metrics::ExpectElements("`values`", values);
  metrics::ExpectElements("`out_weight`", out_weight);
  const Index width = values.shape[1], heads = out_weight.shape[1] / width;
  if (out_weight.shape[1] % width != 0 || head < 0 || head >= heads) {
    throw ShapeError("`out_weight`", SizesOf(out_weight), {"a head ", head, " of width ", width});
  }
  Tensor transformed({values.shape[0], out_weight.shape[0]});
  for (Index j = 0; j < values.shape[0]; ++j) {
    for (Index e = 0; e < out_weight.shape[0]; ++e) {
      double sum = 0.0;
      for (Index c = 0; c < width; ++c) sum += double{values(j, c)} * double{out_weight(e, head * width + c)};
      transformed.view<2>()(j, e) = static_cast<float>(sum);
    }
  }
  return transformed;
}

Matrix WeightedNorms(View<const float, 2> weights, View<const float, 2> transformed, const MapInfo& info) {
  const HeadMap map(weights, info);
  return ScaledColumns(map, CheckedNorms("`transformed`", map, transformed));
}

Matrix LayerNorms(const AttentionSummands& layer) {
  Summands summands(layer);
  Matrix norms(summands.queries(), summands.keys()), gram(summands.heads(), summands.heads());
  for (Index j = 0; j < summands.keys(); ++j) {
    if (!summands.SeekKey(j)) continue;
    for (Index a = 0; a < gram.rows(); ++a)
      for (Index b = 0; b <= a; ++b)
        gram(a, b) = gram(b, a) = metrics::Dot(summands.vectors().row(a), summands.vectors().row(b));
    for (Index i = 0; i < summands.queries(); ++i) {
      const std::span<const double> weights = summands.Weights(i);
      double square = 0.0;
      for (Index a = 0; a < gram.rows(); ++a)
        square += weights[static_cast<std::size_t>(a)] * metrics::Dot(weights, gram.row(a));
      norms(i, j) = std::sqrt(std::max(square, 0.0));  // rounding may make it negative when heads cancel each other
    }
  }
  return norms;
}

std::vector<std::optional<double>> MixingRatio(const AttentionSummands& layer, const MixingOptions& options) {
  Summands summands(layer);
  CheckOptions(summands, options);
  const Index length = summands.queries(), width = summands.width();
  Matrix own(length, width), others(length, width);
  for (Index j = 0; j < length; ++j) {
    if (!summands.SeekKey(j)) continue;
    for (Index i = 0; i < length; ++i) summands.AddSummand(i, 1.0, i == j ? own.row(i) : others.row(i));
  }
  std::vector<std::optional<double>> ratios;
  for (Index i = 0; i < length; ++i) {
    if (!summands.IsValid(i)) {
      ratios.push_back(std::nullopt);
      continue;
    }
    for (Index e = 0; options.residual && e < width; ++e) own(i, e) += double{options.residual(i, e)};
    if (!options.layer_norm.empty()) Linearise(own.row(i), others.row(i), options);
    const double kept = metrics::Norm(own.row(i)), mixed = metrics::Norm(others.row(i));
    if (!std::isfinite(kept)) throw ValueError({"the norm of row ", i, " of `residual`"}, kept, "a finite number");
    ratios.push_back(kept + mixed > 0.0 ? std::optional(mixed / (mixed + kept)) : std::nullopt);
  }
  return ratios;
}

}  // namespace headlens
