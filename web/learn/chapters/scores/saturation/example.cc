// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

std::array<float, 3 * 64> keys{};  // the query is the first of them
for (int i = 0; i < 3 * 64; ++i) keys[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(i % 64 + i / 64));
std::array<float, 3> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 1, 64});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 64});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
std::cout << std::setprecision(7);
for (const float scale : {1.0f, headlens::DefaultScale(64)}) {
  problem.scale = scale;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << weight << ' ';
  std::cout << '\n';
}
