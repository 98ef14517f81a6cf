// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {3, 2, 1}, bias = {0, -8, 0};  // with a query of 1, keys are the scores
std::array<float, 3> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.mask.additive = headlens::DenseView<const float, 4>(bias.data(), {1, 1, 1, 3});
problem.softcap = 2;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
for (const auto order : {headlens::SoftcapOrder::kBeforeBias, headlens::SoftcapOrder::kAfterBias}) {
  problem.softcap_order = order;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
}
