// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

headlens::TensorMap state;  // the projections copy
state["in_proj_weight"] = headlens::Tensor(
    {12, 4}, std::array<float, 48>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0,
                                   0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
state["out_proj.weight"] =
    headlens::Tensor({4, 4}, std::array<float, 16>{1, 2, 3, 4, 0, 1, 0, 1, 2, 0, 0, 1, 0, 0, 1, 1});
headlens::MultiheadConfig config;
config.embed_dim = 4;
config.num_heads = 2;
config.bias = false;
const headlens::MultiheadAttention layer(config, state, headlens::SimdBackend());
// columns 0 and 1 are those of head 0
const headlens::Tensor x({1, 2, 4}, std::array<float, 8>{1, 0, 0, 2, 0, 1, 2, 0});
const headlens::Tensor heads({1, 2, 2, 2}), output({1, 2, 4});
headlens::MultiheadInputs inputs;
inputs.query = inputs.key = inputs.value = x.view<3>();
headlens::MultiheadResults results;
results.attention.output = heads.view<4>();
results.output = output.view<3>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (const float value : heads.values()) std::cout << value << ' ';   // [heads, tokens, 2]
for (const float value : output.values()) std::cout << value << ' ';  // every column has a part of each head
const std::array<float, 2> mask = {1, 0};
inputs.head_mask = headlens::DenseView<const float, 2>(mask.data(), {1, 2});
layer.Forward(inputs, results);
for (const float value : output.values()) std::cout << value << ' ';  // without head 1
