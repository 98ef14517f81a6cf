// SPDX-License-Identifier: Apache-2.0
/// Sorting for all kinds of lists with one sort: each that is sorted in place has kilobytes of code of its own.
#ifndef HEADLENS_SRC_BASE_SORTING_H_
#define HEADLENS_SRC_BASE_SORTING_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace headlens {

/// The places 0 … count − 1 from the least to the greatest by `less(i, j)`; equal ones stay as they are.
std::vector<std::size_t> Order(std::size_t count, const std::function<bool(std::size_t, std::size_t)>& less);

/// Moves values[order[i]] to place i.
template <typename T>
void Permute(std::span<T> values, const std::vector<std::size_t>& order) {
  std::vector<T> moved;
  moved.reserve(values.size());
  for (const std::size_t from : order) moved.push_back(std::move(values[from]));
  std::move(moved.begin(), moved.end(), values.begin());
}

/// From the greatest to the least.
void SortDescending(std::span<double> values);

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_SORTING_H_
