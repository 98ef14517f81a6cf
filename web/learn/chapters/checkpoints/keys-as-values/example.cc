// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 3> query = {10, 0, 0};                  // asks for a noun
const std::array<float, 9> keys = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // a noun, a verb and a place
const std::array<float, 9> values = {0.9f, 0.3f, -0.8f, -0.2f, 0.8f, 0.1f, 0.4f, -0.9f, 0.9f};
std::array<float, 3> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 1, 1, 3});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 3});
headlens::AttentionResults results;
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 3});
for (const auto& handed_over : {values, keys}) {
  problem.v = headlens::DenseView<const float, 4>(handed_over.data(), {1, 1, 3, 3});
  headlens::SimdBackend().Attention(problem, results);
  for (const float number : output) std::cout << std::setprecision(7) << number << ' ';
}
