// SPDX-License-Identifier: Apache-2.0
/// Means over the rows of a map.
#ifndef HEADLENS_SRC_HEADS_MEANS_H_
#define HEADLENS_SRC_HEADS_MEANS_H_

#include "headlens/metrics.h"

namespace headlens::metrics {

inline MetricValue Ratio(double sum, double count, Index n_valid) {
  if (n_valid == 0 || count == 0.0) return {};
  return {sum / count, n_valid};
}

/// The mean of `term(t)` over the valid rows for which it returns a number.
template <class Term>
MetricValue MeanOverRows(const HeadMap& map, const Term& term) {
  double sum = 0.0;
  Index count = 0;
  for (const Index t : map.rows()) {
    if (const std::optional<double> x = term(t)) {
      sum += *x;
      ++count;
    }
  }
  return Ratio(sum, static_cast<double>(count), count);
}

/// The mean over the rows of Σ_s A[t,s] · factor(t, s).
template <class Factor>
MetricValue MeanMass(const HeadMap& map, const Factor& factor) {
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    double mass = 0.0;
    for (Index s = 0; s < map.keys(); ++s) mass += map.weight(t, s) * static_cast<double>(factor(t, s));
    return mass;
  });
}

}  // namespace headlens::metrics

#endif  // HEADLENS_SRC_HEADS_MEANS_H_
