// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "backends/checks.h"
#include "base/views.h"
#include "headlens/backend.h"

namespace headlens {
namespace {

/// The larger number, or NaN when one of them is NaN.
float Larger(float a, float b) { return b > a || b != b ? b : a; }

/// The largest of numbers, of which there is at least one. Lanes are compared side by side, since one comparison after
/// the other waits for the one before it.
float LargestOf(std::span<const float> numbers) {
  constexpr std::size_t kLanes = 16;
  if (numbers.size() < kLanes) return std::accumulate(numbers.begin() + 1, numbers.end(), numbers[0], Larger);
  std::array<float, kLanes> lanes;
  std::copy_n(numbers.begin(), kLanes, lanes.begin());
  std::size_t at = kLanes;
  for (; at + kLanes <= numbers.size(); at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Larger(lanes[lane], numbers[at + lane]);
  }
  for (std::size_t lane = 0; at < numbers.size(); ++at, ++lane) lanes[lane] = Larger(lanes[lane], numbers[at]);
  return std::accumulate(lanes.begin() + 1, lanes.end(), lanes[0], Larger);
}

/// sums[s] = Σ of column s of `rows`
void AddUp(const View<const float, 2>& rows, std::span<double> sums) {
  std::ranges::fill(sums, 0.0);
  for (Index row = 0; row < rows.shape[0]; ++row) {
    const float* cells = rows.at(row);
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += double{cells[s]};
  }
}

/// The largest number in each column of `rows`, of which there is at least one: those of a single row where they are,
/// or those of several in `largest`.
std::span<const float> TakeLargest(const View<const float, 2>& rows, std::span<float> largest) {
  const std::span<const float> first{rows.at(0), largest.size()};
  if (rows.shape[0] == 1) return first;
  std::ranges::copy(first, largest.begin());
  for (Index row = 1; row < rows.shape[0]; ++row) {
    const float* cells = rows.at(row);
    for (std::size_t s = 0; s < largest.size(); ++s) largest[s] = Larger(largest[s], cells[s]);
  }
  return largest;
}

/// to(j) = the mean of the columns of block j of `rows`
void PoolMeans(const View<const float, 2>& rows, std::span<const std::size_t> begins, std::span<double> sums,
               const View<float, 1>& to) {
  AddUp(rows, sums);
  for (std::size_t j = 0; j + 1 < begins.size(); ++j) {
    const std::span<const double> block = sums.subspan(begins[j], begins[j + 1] - begins[j]);
    const double cells = static_cast<double>(rows.shape[0]) * static_cast<double>(block.size());
    to(static_cast<Index>(j)) = static_cast<float>(std::accumulate(block.begin(), block.end(), 0.0) / cells);
  }
}

/// to(j) = the largest number in the columns of block j of `rows`
void PoolLargest(const View<const float, 2>& rows, std::span<const std::size_t> begins, std::span<float> largest,
                 const View<float, 1>& to) {
  const std::span<const float> columns = TakeLargest(rows, largest);
  for (std::size_t j = 0; j + 1 < begins.size(); ++j) {
    const std::size_t count = begins[j + 1] - begins[j];
    to(static_cast<Index>(j)) = count == 1 ? columns[begins[j]] : LargestOf(columns.subspan(begins[j], count));
  }
}

}  // namespace

void Backend::Pool(DeviceView<const float, 2> device_x, const Pooling& pooling, DeviceView<float, 2> device_y) const {
  CheckPool(device_x, pooling, device_y);
  const View<const float, 2> x = device_x.host();
  const View<float, 2> y = device_y.host();
  const bool mean = pooling.kind == PoolKind::kMean;
  std::vector<double> sums(static_cast<std::size_t>(mean ? x.shape[1] : 0));
  std::vector<float> largest(static_cast<std::size_t>(mean ? 0 : x.shape[1]));
  std::vector<std::size_t> begins;  // divisions take longer than all else when blocks are small
  for (Index j = 0; j <= y.shape[1]; ++j) {
    begins.push_back(static_cast<std::size_t>(BlockBegin(j, x.shape[1], y.shape[1])));
  }
  for (Index i = 0; i < y.shape[0]; ++i) {
    const Index block = pooling.first_block + i, top = BlockBegin(block, pooling.rows, pooling.row_blocks),
                bottom = BlockBegin(block + 1, pooling.rows, pooling.row_blocks);
    const View<const float, 2> rows = Rows(x, top - pooling.first_row, bottom - top);
    const View<float, 1> to{y.at(i), {y.shape[1]}, {y.strides[1]}};
    mean ? PoolMeans(rows, begins, sums, to) : PoolLargest(rows, begins, largest, to);
  }
}

}  // namespace headlens
