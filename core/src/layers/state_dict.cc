// SPDX-License-Identifier: Apache-2.0
#include "headlens/state_dict.h"

#include "base/checks.h"
#include "headlens/safetensors.h"

namespace headlens {

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

TakenTensor TakeParameter(const StateDict& state, std::string_view name, const Shape& shape) {
  std::optional<TakenTensor> taken = state.Take(name);
  if (!taken) throw MissingError(ErrorCode::kShape, {"parameter ", state.FullName(name)}, {"shape ", shape});
  if (taken->shape != shape) throw ShapeError({"parameter ", state.FullName(name)}, taken->shape, shape);
  return *std::move(taken);
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
