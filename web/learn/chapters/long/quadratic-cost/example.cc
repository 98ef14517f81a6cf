// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/multihead.h"

headlens::MultiheadConfig config;
config.embed_dim = 64;
config.num_heads = 8;
config.bias = false;
headlens::TensorMap state;
state["in_proj_weight"] = headlens::Tensor({3 * 64, 64});
state["out_proj.weight"] = headlens::Tensor({64, 64});
const headlens::MultiheadAttention layer(config, state, headlens::SimdBackend());
for (const headlens::Index tokens : {64, 128, 256}) {
  const headlens::Tensor x({1, tokens, 64}), output({1, tokens, 64}), weights({1, 8, tokens, tokens});
  headlens::MultiheadInputs inputs;
  inputs.query = inputs.key = inputs.value = x.view<3>();
  headlens::MultiheadResults results;
  results.output = output.view<3>();
  results.attention.weights = weights.view<4>();
  layer.Forward(inputs, results);
  const auto projections = tokens * layer.ParameterCount(config);  // each token meets each parameter
  const auto rest = 2 * weights.size() * (64 / 8);                 // d for each score, and d for each weighted value
  std::cout << projections << ' ' << rest << '\n';
}
