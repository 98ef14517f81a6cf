// SPDX-License-Identifier: Apache-2.0
#include "headlens/problem.h"

const char* const options = R"({"embed_dim": 8, "num_heads": 2, "bias": false, "batch_first": true,
                                "stages": ["q", "scores", "head_outputs"]})";
headlens::Problem layer("multihead_attention", options);
const auto zeros = [&](const char* name, const headlens::Shape& shape) {
  std::ranges::fill(layer.Input(name, headlens::DType::kF32, shape), std::byte{0});
};
zeros("in_proj_weight", {24, 8});
zeros("out_proj.weight", {8, 8});
zeros("query", {3, 5, 8});  // three sequences of five tokens of width 8
const headlens::Results results = layer.Run();
for (const char* name : {"q", "scores", "head_outputs", "output"}) {
  for (const auto size : results.at(name).shape()) std::cout << size << ' ';
  std::cout << '\n';
}
