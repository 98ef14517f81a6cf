// SPDX-License-Identifier: Apache-2.0
/// Parameters by name.
#ifndef HEADLENS_STATE_DICT_H_
#define HEADLENS_STATE_DICT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headlens/backend.h"
#include "headlens/tensor.h"

namespace headlens {

/// Looks a parameter up by its state-dict name; nothing when there is none such.
using StateDict = std::function<std::optional<RawTensor>(std::string_view name)>;

/// A view of `state` in which every name is looked up under `prefix`: WithPrefix(state, "self_attn.").
StateDict WithPrefix(const StateDict& state, std::string prefix);

/// The named parameter as floats. Throws kShape, naming both shapes, when it is missing or has another shape.
Tensor Parameter(const StateDict& state, std::string_view name, const Shape& shape);

/// y = x Wᵀ + b from "<name>.weight" [out, in] and, when `bias`, "<name>.bias" [out].
std::unique_ptr<LinearWeights> LinearParameter(const Backend& backend, const StateDict& state, const std::string& name,
                                               Index out_features, Index in_features, bool bias);

}  // namespace headlens

#endif  // HEADLENS_STATE_DICT_H_
