// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {4, 0, 0};  // with a query of 1, they are the scores
std::array<float, 3> w{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.scale = 1;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(w.data(), {1, 1, 1, 3});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : w) std::cout << weight << ' ';
for (std::size_t i = 0; i < 3; ++i) {
  std::cout << '\n';
  for (std::size_t j = 0; j < 3; ++j) std::cout << (i == j ? w[i] * (1 - w[i]) : -w[i] * w[j]) << ' ';
}
