// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 4> queries = {1, 0, 0, 1};
const std::array<float, 6> keys = {1, 2, 0, 0, 1, 1};
std::array<float, 6> weights{}, mask{}, dropped{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(queries.data(), {1, 1, 2, 2});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 2});
problem.dropout_p = 0.5;
problem.seed = 3;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 3});
results.dropout_mask = headlens::DenseView(mask.data(), std::array<headlens::Index, 4>{1, 1, 2, 3});
results.dropped_weights = headlens::DenseView(dropped.data(), std::array<headlens::Index, 4>{1, 1, 2, 3});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
for (const float kept : mask) std::cout << kept << ' ';         // a 0 drops a weight
for (const float weight : dropped) std::cout << weight << ' ';  // the others are divided by 1 − 0.5
