// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 6> q = {1, 0, 0, 2, 1, 1}, k = {0.5f, 1, 1, 0, 0, 1}, v = {1, 2, 3, 4, 5, 6};  // tokens as rows
std::array<float, 9> weights{};
std::array<float, 6> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 3, 2});
problem.k = headlens::DenseView<const float, 4>(k.data(), {1, 1, 3, 2});
problem.v = headlens::DenseView<const float, 4>(v.data(), {1, 1, 3, 2});
problem.scale = headlens::DefaultScale(2);
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 3, 3});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 3, 2});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
for (const float value : output) std::cout << value << ' ';
