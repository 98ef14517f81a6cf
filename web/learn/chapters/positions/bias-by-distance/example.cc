// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 3> q = {0.5f, 1, 1.2f}, k = {0.2f, 1.5f, 0.8f};
const std::array<float, 5> bias = {0, 0, 0, 6, 0};  // for i - j from -2 to 2: 6 for the token before
std::array<float, 9> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 3, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(k.data(), {1, 1, 3, 1});
problem.position_bias.relative = headlens::DenseView<const float, 2>(bias.data(), {1, 5});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 3, 3});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
