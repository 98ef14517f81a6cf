// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> query = {1, 0};
const std::array<float, 6> keys = {1, 0, 0, 1, 9, 9};  // the third is padding
const std::array<std::uint8_t, 3> padding = {0, 0, 1};
std::array<float, 3> weights{};
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 1, 1, 2});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 2});
problem.scale = headlens::DefaultScale(2);
problem.mask.key_padding = headlens::DenseView<const std::uint8_t, 2>(padding.data(), {1, 3});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 3});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
for (const float value : output) std::cout << value << ' ';
