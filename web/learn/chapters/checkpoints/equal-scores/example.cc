// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 5> keys = {3, 3, 3, 3, 3};  // with a query of 1, they are the scores
const std::array<float, 10> values = {4, 0, 0, 4, 2, 2, 8, -2, 1, 6};
std::array<float, 5> weights{};
std::array<float, 2> output{}, mean{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 5, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 5, 2});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 5});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
headlens::SimdBackend().Attention(problem, results);
for (std::size_t i = 0; i < values.size(); ++i) mean[i % 2] += values[i] / 5;
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
std::cout << output[0] << ' ' << output[1] << ' ' << mean[0] << ' ' << mean[1];
