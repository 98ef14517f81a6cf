// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

const auto some = [](headlens::Shape shape, int step) {  // numbers between −0.5 and 0.5 that are the same everywhere
  headlens::Tensor tensor(std::move(shape));
  for (int i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<float>(i * step % 101) / 101 - 0.5f;
  return tensor;
};
headlens::TensorMap parameters;
parameters["in_proj_weight"] = some({300, 100}, 37);
parameters["out_proj.weight"] = some({100, 100}, 53);
headlens::MultiheadConfig config;
config.embed_dim = 100;
config.num_heads = 5;
config.bias = false;
const headlens::MultiheadAttention layer(config, parameters, headlens::SimdBackend());

const auto x = some({2, 4, 100}, 29), y = some({2, 6, 100}, 41);
const headlens::Tensor output({2, 4, 100}), weights({2, 5, 4, 6});
const std::array<std::int32_t, 2> lengths = {3, 2};
headlens::MultiheadInputs inputs;
inputs.query = x.view<3>();
inputs.key = inputs.value = y.view<3>();
inputs.mask.valid_lens = {lengths.data(), {2, 4}, {1, 0}};  // the same for all four queries
headlens::MultiheadResults results;
results.output = output.view<3>();
results.attention.weights = weights.view<4>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (const auto* tensor : {&output, &weights})
  for (const auto size : tensor->shape()) std::cout << size << ' ';
for (int i = 0; i < 6; ++i) std::cout << weights.data()[i] << ' ';
for (int i = 234; i < 240; ++i) std::cout << weights.data()[i] << ' ';
for (int i = 0; i < 4; ++i) std::cout << output.data()[i] << ' ';
