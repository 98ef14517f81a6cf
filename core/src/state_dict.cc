// SPDX-License-Identifier: Apache-2.0
#include "headlens/state_dict.h"

#include "checks.h"

namespace headlens {

StateDict WithPrefix(const StateDict& state, std::string prefix) {
  return [state, prefix = std::move(prefix)](std::string_view name) { return state(prefix + std::string(name)); };
}

Tensor Parameter(const StateDict& state, std::string_view name, const Shape& shape) {
  const std::optional<RawTensor> raw = state(name);
  if (!raw) {
    throw Error(ErrorCode::kShape, "parameter " + std::string(name) + " is missing; expected shape " + ToString(shape));
  }
  ExpectSizes(("parameter " + std::string(name)).c_str(), raw->shape, shape);
  return ToFloat(*raw);
}

std::unique_ptr<LinearWeights> LinearParameter(const Backend& backend, const StateDict& state, const std::string& name,
                                               Index out_features, Index in_features, bool bias) {
  const Tensor weight = Parameter(state, name + ".weight", {out_features, in_features});
  const Tensor offset = bias ? Parameter(state, name + ".bias", {out_features}) : Tensor();
  return backend.PackLinear(weight.view<2>(), offset.values());
}

}  // namespace headlens
