// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

using headlens::Tensor;
const Tensor x({1, 4, 4}, std::array<float, 16>{0.21, 0.85, 0.14, 0.62, 0.45, 0.33, 0.71, 0.18, 0.05, 0.12, 0.88, 0.09, 0.19, 0.79, 0.22, 0.58});
headlens::TensorMap parameters;  // [out, in], as in PyTorch
parameters["in_proj_weight"] = Tensor({12, 4}, std::array<float, 48>{
    -1.19, -0.44, -1.13, -0.21, 2, -1.47, -0.43, -1.34, 0.27, -0.97, 1.51, -0.9, 0.15, -0.75, 0.95, -0.57,
    -0.74, -1.05, 0.72, -0.81, -2, 0.82, -1.36, 1.19, 0.61, -1.16, 1.1, -1.02, 0.33, -0.81, 0.73, -0.69,
    0.5, 0.3, -0.6, 0.2, -0.2, 0.8, 0.4, 0.9, 0.9, -0.4, 0.7, 0.1, 0.1, 0.6, -0.3, 0.5});
parameters["out_proj.weight"] = Tensor({4, 4}, std::array<float, 16>{0.6, 0.3, -0.4, 0.1, -0.1, 0.7, 0.2, 0.5, 0.2, -0.2, 0.8, -0.3, 0.4, 0.1, 0.3, 0.6});
headlens::MultiheadConfig config;
config.embed_dim = 4;
config.num_heads = 2;
config.bias = false;
const headlens::MultiheadAttention layer(config, parameters, headlens::SimdBackend());
const Tensor weights({1, 2, 4, 4}), output({1, 4, 4});
headlens::MultiheadInputs inputs;
inputs.query = inputs.key = inputs.value = x.view<3>();
headlens::MultiheadResults results;
results.attention.weights = weights.view<4>();
results.output = output.view<3>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (int i = 0; i < 32; ++i) std::cout << weights.data()[i] << ' ';  // head 0, then head 1
for (int i = 0; i < 16; ++i) std::cout << output.data()[i] << ' ';
