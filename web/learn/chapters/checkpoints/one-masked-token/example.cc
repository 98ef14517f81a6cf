// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 4> keys = {1, 2, 0.5, 0};  // with a query of 1, they are the scores
const std::array<std::uint8_t, 4> hidden = {0, 1, 0, 0};
std::array<float, 4> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 4, 1});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 4});
for (const bool masks : {false, true}) {
  if (masks) problem.mask.key_padding = headlens::DenseView<const std::uint8_t, 2>(hidden.data(), {1, 4});
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
}
