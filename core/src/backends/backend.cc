// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"

#include <algorithm>
#include <array>
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

}  // namespace headlens
