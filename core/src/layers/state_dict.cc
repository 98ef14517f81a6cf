// SPDX-License-Identifier: Apache-2.0
#include "headlens/state_dict.h"

#include <cmath>
#include <cstdint>

#include "base/checks.h"
#include "headlens/safetensors.h"

namespace headlens {
namespace {

/// Replaces the integers of each row of a matrix by their products with its element of `scales`.
void Scale(TakenTensor& matrix, const RawTensor& scales, const Phrase& name) {
  const Index rows = matrix.shape[0], columns = matrix.shape[1];
  const auto bytes = std::make_shared<Buffer<std::byte>>(rows * columns * static_cast<Index>(sizeof(float)));
  const auto* from = reinterpret_cast<const std::int8_t*>(matrix.data);
  auto* to = reinterpret_cast<float*>(bytes->data());
  for (Index row = 0; row < rows; ++row) {
    const float scale = LoadFloat(scales.dtype, scales.data + row * static_cast<Index>(ByteSize(scales.dtype)));
    if (!(scale > 0.0f && std::isfinite(scale))) throw ValueError({name, "_scale"}, scale, "finite numbers above 0");
    for (Index i = 0; i < columns; ++i) *to++ = static_cast<float>(*from++) * scale;
  }
  matrix.dtype = DType::kF32;
  matrix.data = bytes->data();
  matrix.owner = bytes;
}

/// Takes a parameter, which may have scales, or the scales of one, which may be a list.
TakenTensor Take(const StateDict& state, const std::string& name, const Shape& shape, bool is_scales) {
  const Phrase parameter = {"parameter ", state.FullName(name)};
  std::optional<TakenTensor> taken = state.Take(name);
  if (!taken) throw MissingError(ErrorCode::kShape, parameter, {"shape ", shape});
  const bool is_list = is_scales && taken->shape.size() == 1 && taken->shape[0] == shape[0];
  if (taken->shape != shape && !is_list) throw ShapeError(parameter, taken->shape, shape);
  const std::string scale = name + "_scale";
  const bool has_scales = !is_scales && state.may_have_scales() && state.Has(scale);
  const bool is_whole = taken->dtype == DType::kI8 && shape.size() == 2 && !state.Has(name + "_zero_point");
  if (has_scales ? !is_whole : !IsFloat(taken->dtype)) {
    throw DtypeError(
        parameter, ToString(taken->dtype),
        "floats alone, or with a quantization_config an I8 matrix beside its _scale, without a _zero_point");
  }
  if (has_scales) Scale(*taken, Take(state, scale, {shape[0], 1}, /*is_scales=*/true), parameter);
  return *std::move(taken);
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

StateDict WithScales(const StateDict& state, bool may_have_scales) {
  StateDict scaled = state;
  scaled.may_have_scales_ = may_have_scales;
  return scaled;
}

TakenTensor TakeParameter(const StateDict& state, std::string_view name, const Shape& shape) {
  return Take(state, std::string(name), shape, /*is_scales=*/false);
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
