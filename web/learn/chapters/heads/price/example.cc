// SPDX-License-Identifier: Apache-2.0
#include "headlens/multihead.h"

headlens::MultiheadConfig config;
config.embed_dim = 768;
for (const auto& [heads, bias] : {std::pair{12, false}, std::pair{1, false}, std::pair{12, true}}) {
  config.num_heads = heads;
  config.bias = bias;
  std::cout << headlens::MultiheadAttention::ParameterCount(config) << '\n';
}
