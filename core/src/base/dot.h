// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BASE_DOT_H_
#define HEADLENS_SRC_BASE_DOT_H_

#include <cstddef>

namespace headlens {

/// x · y in fp64, of n elements each; in four sums, so that no addition waits for the one before it.
template <class X, class Y>
double Dot(const X* x, const Y* y, std::size_t n) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += double{x[i + lane]} * double{y[i + lane]};
  for (; i < n; ++i) sums[0] += double{x[i]} * double{y[i]};
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_DOT_H_
