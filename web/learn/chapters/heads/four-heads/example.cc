// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

const auto wave = [](headlens::Shape shape, double step, double size) {
  headlens::Tensor made(std::move(shape));
  for (int i = 0; i < made.size(); ++i) made.data()[i] = static_cast<float>(size * std::sin(step * i));
  return made;
};
headlens::TensorMap state;
state["in_proj_weight"] = wave({48, 16}, 1.1, 1);
state["out_proj.weight"] = wave({16, 16}, 1.3, 0.25);
headlens::MultiheadConfig config;
config.embed_dim = 16;
config.num_heads = 4;
config.bias = false;
const headlens::MultiheadAttention layer(config, state, headlens::SimdBackend());
const headlens::Tensor x = wave({1, 4, 16}, 0.7, 1), output({1, 4, 16}), weights({1, 4, 4, 4});
headlens::MultiheadInputs inputs;
inputs.query = inputs.key = inputs.value = x.view<3>();
headlens::MultiheadResults results;
results.output = output.view<3>();
results.attention.weights = weights.view<4>();
layer.Forward(inputs, results);
std::cout << std::setprecision(7);
for (const float weight : weights.values().subspan(3 * 16)) std::cout << weight << ' ';  // head 3
for (const float value : output.values().first(16)) std::cout << value << ' ';           // token 0
