// SPDX-License-Identifier: Apache-2.0
#include "model_call.h"

#include <array>
#include <string>

namespace headlens {
namespace {

void ExpectCount(const char* name, std::size_t count, const Shape& shape) {
  if (static_cast<Index>(count) == ElementCount(shape)) return;
  throw Wrong(ErrorCode::kShape, Fragment::Name(name), "has", {count, " values"}, {"shape ", shape});
}

}  // namespace

ModelCall::ModelCall(const ModelInfo& info, const val& given) {
  const auto fill = [&]<class T>(const char* key, std::vector<T>& to) {
    if (!given[key].isUndefined()) to = emscripten::convertJSArrayToNumberVector<T>(given[key]);
  };
  const auto number = [&](const char* key) -> Index {
    return given[key].isUndefined() ? -1 : static_cast<Index>(given[key].as<double>());
  };
  const auto flag = [&](const char* key) { return !given[key].isUndefined() && given[key].as<bool>(); };
  fill("ids", ids_);
  fill("segments", segments_);
  fill("padding", padding_);
  fill("image", image_);
  fill("headMask", head_mask_);
  input.ids = ids_;
  input.segments = segments_;
  input.padding = padding_;
  if (!given["image"].isUndefined()) {
    const std::array<Index, 3> shape = {info.channels, info.image_size, info.image_size};
    ExpectCount("image", image_.size(), {shape[0], shape[1], shape[2]});
    input.image = DenseView(static_cast<const float*>(image_.data()), shape);
  }
  if (!given["headMask"].isUndefined()) {
    const std::array<Index, 2> shape = {info.layers, info.heads};
    ExpectCount("head_mask", head_mask_.size(), {shape[0], shape[1]});
    options.head_mask = DenseView(static_cast<const float*>(head_mask_.data()), shape);
  }
  options.zeroed_token = number("zeroedToken");
  options.zeroed_layer = number("zeroedLayer");
  options.keep_hidden = flag("keepHidden");
  options.keep_values = flag("keepValues");
}

}  // namespace headlens
