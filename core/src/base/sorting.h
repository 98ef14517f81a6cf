// SPDX-License-Identifier: Apache-2.0
/// One sort for all kinds of lists. Every further instance of std::sort would add kilobytes of code.
#ifndef HEADLENS_SRC_BASE_SORTING_H_
#define HEADLENS_SRC_BASE_SORTING_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace headlens {

/// The indices 0 … count − 1 in ascending order by `less(i, j)`. Equal ones keep their order.
std::vector<std::size_t> Order(std::size_t count, const std::function<bool(std::size_t, std::size_t)>& less);

/// Moves values[order[i]] to index i.
template <typename T>
void Permute(std::span<T> values, const std::vector<std::size_t>& order) {
  std::vector<T> moved;
  moved.reserve(values.size());
  for (const std::size_t from : order) moved.push_back(std::move(values[from]));
  std::move(moved.begin(), moved.end(), values.begin());
}

/// Sorts from the largest to the smallest.
void SortDescending(std::span<double> values);

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_SORTING_H_
