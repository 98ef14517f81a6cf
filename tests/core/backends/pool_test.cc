// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "headlens/backend.h"
#include "support.h"

namespace headlens::testing {
namespace {

/// The only row of a map, pooled to one cell.
float Largest(const Tensor& row) {
  const Tensor cell({1, 1});
  SimdBackend().Pool(row.view<2>(), {1, 1, 0, 0, PoolKind::kMax}, cell.view<2>());
  return cell.values()[0];
}

}  // namespace

TEST_CASE("the largest weight of a row is found wherever it is, and a NaN before all others") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (Index columns = 1; columns <= 50; ++columns) {
    for (Index at = 0; at < columns; ++at) {
      CAPTURE(columns);
      CAPTURE(at);
      const Tensor row({1, columns});
      for (Index s = 0; s < columns; ++s) row.view<2>()(0, s) = static_cast<float>(s % 7) / 8.0f - 2.0f;
      row.view<2>()(0, at) = 1.0f;
      CHECK(Largest(row) == 1.0f);
      row.view<2>()(0, at) = kNan;
      CHECK(std::isnan(Largest(row)));
      row.view<2>()(0, (at + 5) % columns) = std::numeric_limits<float>::infinity();
      CHECK(std::isnan(Largest(row)) == ((at + 5) % columns != at));
    }
  }
}

TEST_CASE("a map is pooled into a view whose columns do not lie side by side") {
  const Tensor map({4, 6}), sideways({3, 2}), upright({2, 3});
  for (std::size_t i = 0; i < 24; ++i) map.values()[i] = static_cast<float>(i * 7 % 24);
  const View<float, 2> turned{sideways.data(), {2, 3}, {1, 2}};
  for (const PoolKind kind : {PoolKind::kMean, PoolKind::kMax}) {
    SimdBackend().Pool(map.view<2>(), {4, 2, 0, 0, kind}, upright.view<2>());
    SimdBackend().Pool(map.view<2>(), {4, 2, 0, 0, kind}, turned);
    for (Index i = 0; i < 2; ++i)
      for (Index j = 0; j < 3; ++j) CHECK(turned(i, j) == upright.view<2>()(i, j));
  }
}

}  // namespace headlens::testing
