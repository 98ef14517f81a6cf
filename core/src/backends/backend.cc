// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "backends/checks.h"
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
  std::vector<double> sums(static_cast<std::size_t>(x.shape[1]));
  for (Index i = 0; i < y.shape[0]; ++i) {
    const Index block = pooling.first_block + i, top = BlockBegin(block, pooling.rows, pooling.row_blocks),
                bottom = BlockBegin(block + 1, pooling.rows, pooling.row_blocks);
    std::ranges::fill(sums, 0.0);
    for (Index row = top; row < bottom; ++row) {
      const float* cells = x.at(row - pooling.first_row);
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += double{cells[s]};
    }
    for (Index j = 0; j < y.shape[1]; ++j) {
      const Index left = BlockBegin(j, x.shape[1], y.shape[1]), right = BlockBegin(j + 1, x.shape[1], y.shape[1]);
      const double sum = std::accumulate(sums.begin() + left, sums.begin() + right, 0.0);
      y(i, j) = static_cast<float>(sum / static_cast<double>((bottom - top) * (right - left)));
    }
  }
}

}  // namespace headlens
