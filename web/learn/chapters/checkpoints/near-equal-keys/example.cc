// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 6> queries = {1, 0, 0, 1, -1, -0.5f};
const std::array<float, 8> keys = {1.5f, 0.5f, 1.6f, 0.4f, -1, 1, -0.5f, -1.5f};  // cat, kitten, ran, blue
std::array<float, 12> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(queries.data(), {1, 1, 3, 2});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 4, 2});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 3, 4});
headlens::SimdBackend().Attention(problem, results);
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
