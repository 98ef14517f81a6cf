// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 10> x = {1, 0, 0, 1, 1, 1, 2, 0, 0, 2};
std::array<float, 25> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(x.data(), {1, 1, 5, 2});
problem.k = problem.v = headlens::DenseView<const float, 4>(x.data(), {1, 1, 5, 2});
problem.scale = headlens::DefaultScale(2);
problem.mask.causal = true;
problem.mask.window_left = 1;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 5, 5});
headlens::SimdBackend().Attention(problem, results);
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
