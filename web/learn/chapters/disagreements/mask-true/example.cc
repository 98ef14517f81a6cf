// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {2, 1, 0};
const std::array<std::uint8_t, 3> mask = {1, 1, 0};
std::array<float, 3> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.mask.boolean = headlens::DenseView<const std::uint8_t, 4>(mask.data(), {1, 1, 1, 3});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
for (const bool keeps : {false, true}) {
  problem.mask.boolean_keeps = keeps;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
}
