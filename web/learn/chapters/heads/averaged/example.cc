// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

headlens::TensorMap state;
state["in_proj_weight"] = headlens::Tensor({12, 4}, std::array<float, 48>{
    1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,    // queries copy
    3, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 3, 0, 0, 0});  // head 0 looks at itself, head 1 at the other
state["out_proj.weight"] = headlens::Tensor({4, 4}, std::array<float, 16>{});
headlens::MultiheadConfig config;
config.embed_dim = 4;
config.num_heads = 2;
config.bias = false;
const headlens::MultiheadAttention layer(config, state, headlens::SimdBackend());
const headlens::Tensor x({1, 2, 4}, std::array<float, 8>{1, 0, 0, 0, 0, 1, 0, 0}), output({1, 2, 4}), each({1, 2, 2, 2});
headlens::MultiheadInputs inputs;
inputs.query = inputs.key = inputs.value = x.view<3>();
headlens::MultiheadResults results;
results.output = output.view<3>();
results.attention.weights = each.view<4>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (const float weight : each.values()) std::cout << weight << ' ';
for (std::size_t i = 0; i < 4; ++i) std::cout << (each.data()[i] + each.data()[4 + i]) / 2 << ' ';
