// SPDX-License-Identifier: Apache-2.0
/// The similarity of heads.
#include <cmath>
#include <string>

#include "headlens/attribution.h"
#include "heads/maps.h"

namespace headlens {
namespace {

/// Heads with smoothed weights and the entropy of each of their rows. Since JS = H(M) − ½ H(A^a) − ½ H(A^b), a pair of
/// rows then takes only one logarithm per cell.
class SmoothedHeads {
 public:
  SmoothedHeads(const std::vector<HeadMap>& maps, double smoothing)
      : maps_(maps),
        kept_(1.0 - smoothing),
        added_(smoothing / static_cast<double>(maps[0].keys())),
        entropy_(static_cast<Index>(maps.size()), maps[0].queries()),
        valid_(static_cast<Index>(maps.size()), maps[0].queries()) {
    for (Index h = 0; h < static_cast<Index>(maps.size()); ++h) {
      for (const Index t : Map(h).rows()) {
        valid_(h, t) = 1.0;
        for (Index s = 0; s < Map(h).keys(); ++s) entropy_(h, t) += metrics::Surprise(Weight(h, t, s));
      }
    }
  }

  double Divergence(Index a, Index b) const {
    double sum = 0.0;
    for (const Index t : Map(a).rows()) {
      if (valid_(b, t) == 0.0) continue;
      double entropy = 0.0;
      for (Index s = 0; s < Map(a).keys(); ++s) entropy += metrics::Surprise((Weight(a, t, s) + Weight(b, t, s)) / 2.0);
      sum += std::max(entropy - (entropy_(a, t) + entropy_(b, t)) / 2.0, 0.0);
    }
    return sum;
  }

 private:
  const HeadMap& Map(Index h) const { return maps_[static_cast<std::size_t>(h)]; }
  double Weight(Index h, Index t, Index s) const { return kept_ * Map(h).weight(t, s) + added_; }

  const std::vector<HeadMap>& maps_;
  double kept_, added_;
  Matrix entropy_, valid_;
};

}  // namespace

Matrix JensenShannon(View<const float, 3> weights, const MapInfo& info, double smoothing) {
  if (!(smoothing >= 0.0 && smoothing <= 1.0)) {
    throw ValueError("`smoothing`", smoothing, "0 to 1");
  }
  const std::vector<HeadMap> maps = metrics::CheckedMaps(weights, info);
  for (std::size_t h = 0; h < maps.size(); ++h) {
    if (!maps[h].stochastic()) {
      throw Wrong(ErrorCode::kValue, {"`weights` of head ", h}, "have", "rows that do not sum to 1", "rows that do");
    }
  }
  const SmoothedHeads heads(maps, smoothing);
  Matrix divergence(weights.shape[0], weights.shape[0]);
  for (Index a = 0; a < divergence.rows(); ++a)
    for (Index b = 0; b < a; ++b) divergence(a, b) = divergence(b, a) = heads.Divergence(a, b);
  return divergence;
}

}  // namespace headlens
