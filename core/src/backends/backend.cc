// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "backends/checks.h"
#include "base/views.h"
#include "base/words.h"

namespace headlens {
namespace {

/// Elements that the host has already.
class Ready final : public Reading {
 public:
  explicit Ready(Tensor tensor) : tensor_(std::move(tensor)) {}
  Tensor Wait() override { return std::move(tensor_); }
  void Then(std::function<void(Reading&)> use) override { use(*this); }

 private:
  Tensor tensor_;
};

/// The larger number, or NaN when one of them is NaN.
float Larger(float a, float b) { return b > a || b != b ? b : a; }

/// sums[s] = Σ of column s of `rows`
void AddUp(const View<const float, 2>& rows, std::span<double> sums) {
  std::ranges::fill(sums, 0.0);
  for (Index row = 0; row < rows.shape[0]; ++row) {
    const float* cells = rows.at(row);
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += double{cells[s]};
  }
}

/// largest[s] = the largest number in column s of `rows`, of which there is at least one
void TakeLargest(const View<const float, 2>& rows, std::span<float> largest) {
  std::copy_n(rows.at(0), largest.size(), largest.begin());
  for (Index row = 1; row < rows.shape[0]; ++row) {
    const float* cells = rows.at(row);
    for (std::size_t s = 0; s < largest.size(); ++s) largest[s] = Larger(largest[s], cells[s]);
  }
}

}  // namespace

std::span<const Backend* const> Backends() {
  static const std::array<const Backend*, 2> kBackends = {&SimdBackend(), &ReferenceBackend()};
  return kBackends;
}

const Backend& FindBackend(std::string_view name, std::span<const Backend* const> among) {
  for (const Backend* backend : among)
    if (backend->name() == name) return *backend;
  throw OptionError("`backend`", Quoted(name), {"one of: ", Joined(among, &Backend::name)});
}

std::shared_ptr<Reading> Backend::ReadBack(const DeviceTensor& tensor, Tensor) const {
  return std::make_shared<Ready>(tensor.host());
}

void Backend::Copy(DeviceView<const float, 4> from, DeviceView<float, 4> to) const {
  ExpectSizes("copy", SizesOf(to), SizesOf(from));
  headlens::Copy(from.host(), to.host());
}

void Backend::CopyRows(const LinearWeights& weights, std::span<const std::int32_t> rows,
                       DeviceView<float, 2> device_y) const {
  CheckCopyRows(weights, rows, device_y);
  const View<float, 2> y = device_y.host();
  for (Index i = 0; i < y.shape[0]; ++i) {
    weights.CopyRow(rows[static_cast<std::size_t>(i)], {y.at(i), static_cast<std::size_t>(y.shape[1])});
  }
}

void Backend::Pool(DeviceView<const float, 2> device_x, const Pooling& pooling, DeviceView<float, 2> device_y) const {
  CheckPool(device_x, pooling, device_y);
  const View<const float, 2> x = device_x.host();
  const View<float, 2> y = device_y.host();
  const bool mean = pooling.kind == PoolKind::kMean;
  std::vector<double> sums(static_cast<std::size_t>(mean ? x.shape[1] : 0));
  std::vector<float> largest(static_cast<std::size_t>(mean ? 0 : x.shape[1]));
  for (Index i = 0; i < y.shape[0]; ++i) {
    const Index block = pooling.first_block + i, top = BlockBegin(block, pooling.rows, pooling.row_blocks),
                bottom = BlockBegin(block + 1, pooling.rows, pooling.row_blocks);
    const View<const float, 2> rows = Rows(x, top - pooling.first_row, bottom - top);
    mean ? AddUp(rows, sums) : TakeLargest(rows, largest);
    for (Index j = 0; j < y.shape[1]; ++j) {
      const Index left = BlockBegin(j, x.shape[1], y.shape[1]), right = BlockBegin(j + 1, x.shape[1], y.shape[1]);
      if (mean) {
        const double sum = std::accumulate(sums.begin() + left, sums.begin() + right, 0.0);
        y(i, j) = static_cast<float>(sum / static_cast<double>((bottom - top) * (right - left)));
      } else {
        y(i, j) = std::accumulate(largest.begin() + left + 1, largest.begin() + right,
                                  largest[static_cast<std::size_t>(left)], Larger);
      }
    }
  }
}

}  // namespace headlens
