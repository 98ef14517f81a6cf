// SPDX-License-Identifier: Apache-2.0
#include "base/sorting.h"

#include <numeric>

namespace headlens {

std::vector<std::size_t> Order(std::size_t count, const std::function<bool(std::size_t, std::size_t)>& less) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

void SortDescending(std::span<double> values) { std::sort(values.begin(), values.end(), std::greater<>()); }

}  // namespace headlens
