// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

headlens::Problem layer("multihead_attention", R"({"embed_dim": 128, "num_heads": 8, "bias": false})");  // tokens first
const auto zeros = [&](const char* name, const headlens::Shape& shape) {
  std::ranges::fill(layer.Input(name, headlens::DType::kF32, shape), std::byte{0});
};
const auto print = [](const headlens::Results& results) {
  for (const auto size : results.at("weights").shape()) std::cout << size << ' ';
};
zeros("in_proj_weight", {384, 128});
zeros("out_proj.weight", {128, 128});
zeros("query", {16, 4, 128});  // 16 tokens of 4 sequences
print(layer.Run());            // 4 16 16: averaged over heads
zeros("query", {16, 4, 128});
print(layer.Run(R"({"average_attn_weights": false})"));  // 4 8 16 16
zeros("query", {4, 16, 128});
print(layer.Run());  // 16 4 4: sequences taken for tokens, and no error
