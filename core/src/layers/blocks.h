// SPDX-License-Identifier: Apache-2.0
/// The norm and activation blocks that the layers and the models share.
#ifndef HEADLENS_SRC_LAYERS_BLOCKS_H_
#define HEADLENS_SRC_LAYERS_BLOCKS_H_

#include "headlens/transformer.h"

namespace headlens {

/// y = norm(x), row by row. y may be x. `weight` is [D], `bias` is [D] or empty.
inline void Normalize(const Backend& backend, NormKind kind, const Tensor& weight, const Tensor& bias, float eps,
                      View<const float, 2> x, View<float, 2> y) {
  if (kind == NormKind::kRmsNorm) return backend.RmsNorm(x, weight.values(), eps, y);
  backend.LayerNorm(x, weight.values(), bias.values(), eps, y);
}

/// x ← act(x), or with SwiGLU x ← silu(x) · up. Other activations do not use `up`.
inline void Activate(const Backend& backend, Activation activation, std::span<float> x, std::span<const float> up) {
  switch (activation) {
    case Activation::kRelu:
      return backend.Relu(x);
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return backend.Gelu(x, activation == Activation::kGeluTanh);
    case Activation::kSwiGlu:
      return backend.SwiGlu(x, up);
  }
}

}  // namespace headlens

#endif  // HEADLENS_SRC_LAYERS_BLOCKS_H_
