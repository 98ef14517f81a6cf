// SPDX-License-Identifier: Apache-2.0
/// Attention rollout: the product of the layers' attention.
#include <algorithm>
#include <numeric>

#include "base/checks.h"
#include "headlens/attribution.h"
#include "heads/dense.h"
#include "heads/maps.h"

namespace headlens {
namespace {

void CheckDiscardRatio(double ratio) {
  if (!(ratio >= 0.0 && ratio < 1.0)) {
    throw ValueError("`discard_ratio`", ratio, "0 to less than 1");
  }
}

double Fuse(HeadFusion fusion, double fused, double weight, Index heads) {
  switch (fusion) {
    case HeadFusion::kMean:
      return fused + weight / static_cast<double>(heads);
    case HeadFusion::kMax:
      return std::max(fused, weight);
    case HeadFusion::kMin:
      return std::min(fused, weight);
  }
  return fused;
}

/// Sets the smallest floor(ratio · n) values to 0, the first of equal ones.
void DiscardSmallest(std::span<double> values, double ratio) {
  const auto count = static_cast<std::size_t>(ratio * static_cast<double>(values.size()));
  if (count == 0) return;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::nth_element(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count) - 1, order.end(),
      [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
  for (std::size_t i = 0; i < count; ++i) values[order[i]] = 0.0;
}

}  // namespace

Matrix FuseHeads(View<const float, 3> weights, HeadFusion fusion, double discard_ratio, const MapInfo& info) {
  CheckDiscardRatio(discard_ratio);
  const Index heads = weights.shape[0], length = weights.shape[1];
  ExpectSizes("`weights`", SizesOf(weights), {heads, length, length});
  metrics::ExpectElements("`weights`", weights);
  Matrix fused(length, length);
  if (fusion == HeadFusion::kMin) std::fill(fused.values().begin(), fused.values().end(), 1.0);
  for (Index h = 0; h < heads; ++h) {
    const HeadMap map(Slice(weights, h), info);
    std::vector<bool> valid(static_cast<std::size_t>(length), false);
    for (const Index i : map.rows()) valid[static_cast<std::size_t>(i)] = true;
    for (Index i = 0; i < length; ++i) {
      for (Index j = 0; j < length; ++j) {
        const double weight = valid[static_cast<std::size_t>(i)] ? map.weight(i, j) : 0.0;
        fused(i, j) = Fuse(fusion, fused(i, j), weight, heads);
      }
    }
  }
  DiscardSmallest(fused.values(), discard_ratio);
  for (Index i = 0; i < length; ++i) {
    fused(i, i) += 1.0;
    double sum = 0.0;
    for (const double x : fused.row(i)) sum += x;
    for (double& x : fused.row(i)) x /= sum;
  }
  return fused;
}

Rollout::Rollout(const RolloutOptions& options) : options_(options) {
  CheckDiscardRatio(options.discard_ratio);
  if (options.start_layer < 0) {
    throw ValueError("`start_layer`", options.start_layer, "0 or more");
  }
}

void Rollout::Add(View<const float, 3> weights) {
  Matrix fused = FuseHeads(weights, options_.fusion, options_.discard_ratio, options_.info);
  if (product_.rows() > 0) ExpectSizes("weights of a layer", {fused.rows()}, {product_.rows()});
  if (layers_++ < options_.start_layer) return;
  if (product_.rows() == 0) {
    product_ = std::move(fused);
    return;
  }
  Matrix product(fused.rows(), fused.rows());
  AsEigen(product) = Product(AsEigen(fused), AsEigen(product_));
  product_ = std::move(product);
}

const Matrix& Rollout::result() const {
  if (product_.rows() == 0) {
    throw ValueError("`start_layer`", options_.start_layer, {"less than ", layers_, ", the number of layers"});
  }
  return product_;
}

}  // namespace headlens
