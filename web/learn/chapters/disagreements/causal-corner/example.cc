// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> queries{};
const std::array<float, 5> keys{};
std::array<float, 10> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(queries.data(), {1, 1, 2, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 5, 1});
problem.mask.causal = true;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 5});
for (const auto alignment : {headlens::CausalAlignment::kTopLeft, headlens::CausalAlignment::kBottomRight}) {
  problem.mask.causal_alignment = alignment;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
}
