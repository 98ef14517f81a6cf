// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 9> scores = {1, 0.5f, 3, 0.5f, 1, 2, 1, 0, 1}, identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
std::array<float, 9> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(scores.data(), {1, 1, 3, 3});
problem.k = headlens::DenseView<const float, 4>(identity.data(), {1, 1, 3, 3});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 3, 3});
std::cout << std::setprecision(7);
for (const bool first : {true, false}) {
  problem.mask.causal = first;
  headlens::SimdBackend().Attention(problem, results);
  // Without the mask, the later words are left out here. Too late: they have taken their share.
  for (int row = 0; row < 3; ++row) std::cout << std::accumulate(&weights[3 * row], &weights[3 * row] + row + 1, 0.0f) << ' ';
}
