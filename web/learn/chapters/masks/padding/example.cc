// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

// Two sentences; the second has a padding token.
const std::array<float, 12> x = {1, 0, 0, 1, 1, 1, 2, 1, 1, 2, 9, 9};
const std::array<std::uint8_t, 6> padding = {0, 0, 0, 0, 0, 1};
std::array<float, 18> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(x.data(), {2, 1, 3, 2});
problem.k = headlens::DenseView<const float, 4>(x.data(), {2, 1, 3, 2});
problem.scale = headlens::DefaultScale(2);
problem.mask.key_padding = headlens::DenseView(padding.data(), std::array<headlens::Index, 2>{2, 3});
problem.mask.causal = true;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {2, 1, 3, 3});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
