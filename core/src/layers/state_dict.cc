// SPDX-License-Identifier: Apache-2.0
#include "headlens/state_dict.h"

#include <cmath>
#include <cstdint>

#include "base/checks.h"
#include "headlens/safetensors.h"

namespace headlens {
namespace {

/// The floats of a matrix of integers: each times its row's element of the parameter `name`.
TakenTensor Scaled(const RawTensor& integers, const StateDict& state, std::string_view name) {
  const Phrase parameter = {"parameter ", state.FullName(name)};
  const TakenTensor scales = state.Take(name).value();
  const Index rows = integers.shape[0], columns = integers.shape[1];
  if (scales.shape != Shape{rows, 1} && scales.shape != Shape{rows}) {
    throw ShapeError(parameter, scales.shape, Shape{rows, 1});
  }
  if (!IsFloat(scales.dtype)) throw DtypeError(parameter, ToString(scales.dtype), "floats");
  const auto matrix = std::make_shared<Tensor>(integers.shape);
  const auto* from = reinterpret_cast<const std::int8_t*>(integers.data);
  float* to = matrix->data();
  for (Index row = 0; row < rows; ++row) {
    const float scale = LoadFloat(scales.dtype, scales.data + row * static_cast<Index>(ByteSize(scales.dtype)));
    if (!(scale > 0.0f && std::isfinite(scale))) {
      throw ValueError({parameter, "[", row, "]"}, scale, "a finite number above 0");
    }
    for (Index i = 0; i < columns; ++i) *to++ = static_cast<float>(*from++) * scale;
  }
  return {RawOf(*matrix), matrix};
}

}  // namespace

StateDict::StateDict(const TensorMap& tensors)
    : StateDict([&tensors](std::string_view name) -> std::optional<TakenTensor> {
        const auto it = tensors.find(name);
        return it == tensors.end() ? std::nullopt : std::optional<TakenTensor>(RawOf(it->second));
      }) {}

StateDict::StateDict(const Safetensors& tensors)
    : StateDict([&tensors](std::string_view name) -> std::optional<TakenTensor> { return tensors.Find(name); }) {}

StateDict WithPrefix(const StateDict& state, std::string_view prefix) {
  StateDict prefixed = state;
  prefixed.prefix_ += prefix;
  return prefixed;
}

StateDict WithScales(const StateDict& state) {
  StateDict scaled = state;
  scaled.may_have_scales_ = true;
  return scaled;
}

TakenTensor TakeParameter(const StateDict& state, std::string_view name, const Shape& shape) {
  const Phrase parameter = {"parameter ", state.FullName(name)};
  std::optional<TakenTensor> taken = state.Take(name);
  if (!taken) throw MissingError(ErrorCode::kShape, parameter, {"shape ", shape});
  if (taken->shape != shape) throw ShapeError(parameter, taken->shape, shape);
  const std::string scale = std::string(name) + "_scale";
  if (!state.may_have_scales() || !state.Has(scale)) {
    if (IsFloat(taken->dtype)) return *std::move(taken);
    throw DtypeError(parameter, ToString(taken->dtype),
                     "floats, or with a quantization_config an I8 matrix beside its _scale");
  }
  const bool is_matrix = taken->dtype == DType::kI8 && shape.size() == 2;
  if (!is_matrix) throw DtypeError(parameter, ToString(taken->dtype), "an I8 matrix beside its _scale");
  if (state.Has(std::string(name) + "_zero_point")) {
    throw Wrong(ErrorCode::kUnsupported, parameter, "has", "a zero point", "none, since integers are symmetric");
  }
  return Scaled(*taken, state, scale);
}

Tensor Parameter(const StateDict& state, std::string_view name, const Shape& shape) {
  return ToFloat(TakeParameter(state, name, shape));
}

std::unique_ptr<LinearWeights> LinearParameter(const Backend& backend, const StateDict& state, std::string_view name,
                                               Index out_features, Index in_features, bool bias) {
  const Tensor offset = bias ? Parameter(state, std::string(name) + ".bias", {out_features}) : Tensor();
  const TakenTensor weight = TakeParameter(state, std::string(name) + ".weight", {out_features, in_features});
  return PackRows(backend, weight, /*transposed=*/false, 0, out_features, offset.values());
}

std::unique_ptr<LinearWeights> PackRows(const Backend& backend, const RawTensor& matrix, bool transposed, Index first,
                                        Index count, std::span<const float> bias) {
  if (matrix.dtype == DType::kF64) {
    const Tensor floats = ToFloat(matrix);
    return PackRows(backend, RawOf(floats), transposed, first, count, bias);
  }
  const Index row = matrix.shape[1], out_stride = transposed ? 1 : row, in_stride = transposed ? row : 1;
  const std::byte* from = matrix.data + first * out_stride * static_cast<Index>(ByteSize(matrix.dtype));
  return backend.PackLinear({matrix.dtype, from, count, transposed ? matrix.shape[0] : row, out_stride, in_stride},
                            bias);
}

}  // namespace headlens
