// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

// One row of scores for each head and word: with the identity as keys, queries are the scores.
const std::array<float, 18> scores = {1, 0, 2, 0, 1, 3, 1, 1, 0, /* head 1 */ 0, 4, 1, 2, 2, 5, 0, 1, 2};
const std::array<float, 18> identity = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
std::array<float, 18> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(scores.data(), {1, 2, 3, 3});
problem.k = headlens::DenseView<const float, 4>(identity.data(), {1, 2, 3, 3});
problem.mask.causal = true;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 2, 3, 3});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';  // a triangle for each head
