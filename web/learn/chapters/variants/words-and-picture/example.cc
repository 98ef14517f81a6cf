// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 9> words = {1, 0, 0, 0, 1, 0, 0, 0, 1};                                   // red, green, blue
const std::array<float, 12> patches = {0.9f, 0.1f, 0, 0.1f, 0.8f, 0.2f, 0, 0.2f, 0.9f, 0, 0, 0};  // four colours
const float sharpness = 4;
const headlens::Tensor weights({1, 1, 3, 4}), output({1, 1, 3, 3});
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(words.data(), {1, 1, 3, 3});
problem.k = problem.v = headlens::DenseView<const float, 4>(patches.data(), {1, 1, 4, 3});
problem.scale = sharpness;
headlens::AttentionResults results;
results.weights = weights.view<4>();
results.output = output.view<4>();
headlens::SimdBackend().Attention(problem, results);
std::cout << "3 4 " << std::setprecision(7);
for (const float weight : weights.values()) std::cout << weight << ' ';  // for each word, a map of the picture
for (const float value : output.values()) std::cout << value << ' ';     // the colours that words bring back
