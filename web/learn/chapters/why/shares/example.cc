// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {std::log(7.f), std::log(2.f), std::log(1.f)};  // the softmax of logarithms gives shares
const std::array<float, 6> values = {2, 0, 0, 2, 1, 1};
std::array<float, 3> weights{};
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 3, 2});
problem.scale = 1;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
std::cout << '\n' << output[0] << ' ' << output[1];
