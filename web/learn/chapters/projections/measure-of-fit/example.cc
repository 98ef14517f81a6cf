// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> query = {2, 1};
const std::array<float, 4> keys = {2, 1, 0, 1};  // cat, The
std::array<float, 2> scores{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 1, 1, 2});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 2, 2});
headlens::AttentionResults results;
results.scores = headlens::DenseView<float, 4>(scores.data(), {1, 1, 1, 2});
headlens::SimdBackend().Attention(problem, results);
std::cout << scores[0] << ' ' << scores[1];
