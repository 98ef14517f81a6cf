// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "headlens/position_tables.h"

namespace headlens {

Tensor SinusoidalPositions(Index length, Index width, Index offset) {
  Tensor positions({length, width});
  if (positions.size() == 0) return positions;
  const View<float, 2> p = positions.view<2>();
  for (Index i = 0; i < width; ++i) {
    const double rate = std::pow(10000.0, -static_cast<double>(i / 2 * 2) / static_cast<double>(width));
    for (Index t = 0; t < length; ++t) {
      const double angle = static_cast<double>(t + offset) * rate;
      p(t, i) = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return positions;
}

}  // namespace headlens
