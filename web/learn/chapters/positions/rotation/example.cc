// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/positions.h"

std::array<float, 8> q = {1, 0.2f, 1, 0.2f, 1, 0.2f, 1, 0.2f};          // one vector at four positions
std::array<float, 8> k = {0.8f, 0.6f, 0.8f, 0.6f, 0.8f, 0.6f, 0.8f, 0.6f};
std::array<float, 16> scores{};
headlens::AttentionProblem problem;
const auto queries = headlens::DenseView<float, 4>(q.data(), {1, 1, 4, 2});
const auto keys = headlens::DenseView<float, 4>(k.data(), {1, 1, 4, 2});
headlens::ApplyRotary(headlens::SimdBackend(), {}, queries, 0);
headlens::ApplyRotary(headlens::SimdBackend(), {}, keys, 0);
problem.q = queries;
problem.k = problem.v = keys;
headlens::AttentionResults results;
results.scores = headlens::DenseView<float, 4>(scores.data(), {1, 1, 4, 4});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float score : scores) std::cout << score << ' ';  // each diagonal has one number
