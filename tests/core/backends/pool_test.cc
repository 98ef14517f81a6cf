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

}  // namespace headlens::testing
