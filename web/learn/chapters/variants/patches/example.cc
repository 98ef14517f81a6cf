// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 16> picture = {
    0.9f, 0.8f, 0.1f, 0.0f,  //
    0.8f, 0.9f, 0.0f, 0.1f,  //
    0.1f, 0.0f, 0.9f, 0.9f,  //
    0.0f, 0.1f, 0.8f, 0.9f,
};
std::vector<float> patches;  // four patches of 2 × 2 pixels, each in one row, are the tokens
for (const std::size_t corner : {0, 2, 8, 10})
  for (const std::size_t pixel : {0, 1, 4, 5}) patches.push_back(picture[corner + pixel]);
std::array<float, 16> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(patches.data(), {1, 1, 4, 4});
problem.k = problem.v = problem.q;
problem.scale = 1;
headlens::AttentionResults results;
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 4, 4});
headlens::SimdBackend().Attention(problem, results);
for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';  // bright looks at bright
