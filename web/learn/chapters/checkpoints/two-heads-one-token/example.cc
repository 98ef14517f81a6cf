// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 2> query = {8, 8};                         // both heads ask for nouns
const std::array<float, 6> keys = {0.2f, 1, 0.1f, 0.2f, 1, 0.1f};  // the same “noun” of two, cats, sleep in both
const std::array<float, 6> values = {0.6f, 0.9f, 0.4f, 0, 0.3f, 0.7f};  // head 0 reads “plural”, head 1 “animal”
std::array<float, 6> weights{};
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 2, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 2, 3, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 2, 3, 1});
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 2, 1, 3});
results.output = headlens::DenseView<float, 4>(output.data(), {1, 2, 1, 1});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7);
for (const float weight : weights) std::cout << weight << ' ';
std::cout << output[0] << ' ' << output[1];
