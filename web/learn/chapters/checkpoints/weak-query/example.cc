// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> query = {0.05f, 0.05f};
const std::array<float, 10> keys = {2, 0.5, -1, 2, 0.5, -1.5, -2, -1, 1, 1};
std::array<float, 5> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 1, 1, 2});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 5, 2});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 5});
for (const float length : {1, 60}) {
  problem.scale = length;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
}
