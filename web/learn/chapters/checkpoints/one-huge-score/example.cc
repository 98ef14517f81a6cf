// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 4> keys = {10, 0, 0, 0};  // with a query of 1, they are the scores
const std::array<float, 8> values = {0, 1, 1, 0, 0, -1, -1, 0};
std::array<float, 4> weights{};
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 4, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 4, 2});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 4});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
headlens::SimdBackend().Attention(problem, results);
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
for (const float number : output) std::cout << number << ' ';
