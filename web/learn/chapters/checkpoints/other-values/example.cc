// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {3, 1, 0};  // with a query of 1, they are the scores
const std::array<float, 6> first = {1, 0, 0, 1, -1, -1}, second = {5, 5, -4, 2, 0, 8};
std::array<float, 3> weights{};
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
headlens::SimdBackend().Attention(problem, results);  // weights need no values
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
for (const auto& values : {first, second}) {
  problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 3, 2});
  headlens::SimdBackend().Attention(problem, results);
  std::cout << output[0] << ' ' << output[1] << ' ';
}
