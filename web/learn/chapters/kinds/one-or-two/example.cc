// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

const auto some = [](headlens::Shape shape, int step) {  // numbers between −0.5 and 0.5 that are the same everywhere
  headlens::Tensor tensor(std::move(shape));
  for (int i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<float>(i * step % 101) / 101 - 0.5f;
  return tensor;
};
headlens::TensorMap parameters;
parameters["in_proj_weight"] = some({768, 256}, 37);
parameters["out_proj.weight"] = some({256, 256}, 53);
headlens::MultiheadConfig config;
config.embed_dim = 256;
config.num_heads = 8;
config.bias = false;
const headlens::MultiheadAttention layer(config, parameters, headlens::SimdBackend());

const auto decoder = some({2, 12, 256}, 29), encoder = some({2, 20, 256}, 41);
const headlens::Tensor output({2, 12, 256}), weights({2, 8, 12, 20});
headlens::MultiheadInputs inputs;
inputs.query = decoder.view<3>();
inputs.key = inputs.value = encoder.view<3>();
headlens::MultiheadResults results;
results.output = output.view<3>();
results.attention.weights = weights.view<4>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (const auto* tensor : {&output, &weights})
  for (const auto size : tensor->shape()) std::cout << size << ' ';
for (int i = 0; i < 4; ++i) std::cout << weights.data()[i] << ' ';
for (int i = 0; i < 4; ++i) std::cout << output.data()[i] << ' ';
