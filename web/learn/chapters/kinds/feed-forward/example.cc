// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/transformer.h"

headlens::TensorMap parameters;
parameters["linear1.weight"] = headlens::Tensor({4, 2}, std::array<float, 8>{1, 0, -1, 0, 0.5f, 1, 0, -1});
parameters["linear1.bias"] = headlens::Tensor({4}, std::array<float, 4>{0, 0.5f, 0, -0.5f});
parameters["linear2.weight"] = headlens::Tensor({2, 4}, std::array<float, 8>{1, 2, 0, 1, 0, 1, 1, -1});
parameters["linear2.bias"] = headlens::Tensor({2}, std::array<float, 2>{0.25f, 0});
const headlens::FeedForward block(parameters, 2, 4, headlens::Activation::kRelu, true, headlens::SimdBackend());

const headlens::Tensor x({3, 2}, std::array<float, 6>{1, -1, -1.4f, 0.2f, 0.2f, 1.4f}), y({3, 2});
block.Forward(x.view<2>(), y.view<2>());
std::cout << std::setprecision(7);
for (const float value : y.values()) std::cout << value << ' ';
