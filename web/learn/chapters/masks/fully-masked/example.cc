// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> q = {1, 1};
const std::array<float, 3> k = {2, 1, 0};
const std::array<float, 6> v = {1, 0, 0, 1, 1, 1};
const std::array<std::uint8_t, 6> keep = {1, 1, 0, 0, 0, 0};  // the second query sees nothing
std::array<float, 6> weights{};
std::array<float, 4> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 2, 1});
problem.k = headlens::DenseView<const float, 4>(k.data(), {1, 1, 3, 1});
problem.v = headlens::DenseView<const float, 4>(v.data(), {1, 1, 3, 2});
problem.mask.boolean = headlens::DenseView<const std::uint8_t, 4>(keep.data(), {1, 1, 2, 3});
headlens::AttentionResults results;  // problem.fully_masked is FullyMasked::kZero
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 3});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 2, 2});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
for (const float value : output) std::cout << value << ' ';
