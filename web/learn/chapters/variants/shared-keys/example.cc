// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 8> q = {1, 0, 0, 1, 1, 1, 2, 0};               // four heads, one query
const std::array<float, 12> k = {1, 0, 0, 1, 1, 1, 0, 2, 2, 0, 1, 1};  // two heads, three keys
std::array<float, 12> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 4, 1, 2});
problem.k = problem.v = headlens::DenseView<const float, 4>(k.data(), {1, 2, 3, 2});
problem.scale = headlens::DefaultScale(2);
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 4, 1, 3});
headlens::SimdBackend().Attention(problem, results);
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
