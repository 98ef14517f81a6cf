// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {2, 1, 0}, values = {4, 0, 2};
const std::array<std::uint8_t, 3> hidden = {1, 1, 1};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 3, 1});
problem.mask.key_padding = headlens::DenseView<const std::uint8_t, 2>(hidden.data(), {1, 3});
const auto output = [&](headlens::FullyMasked choice) {
  float sum = 0;
  headlens::AttentionResults results;
  results.output = headlens::DenseView<float, 4>(&sum, {1, 1, 1, 1});
  problem.fully_masked = choice;
  headlens::SimdBackend().Attention(problem, results);
  return sum;
};
std::cout << output(headlens::FullyMasked::kZero) << '\n'
          << std::isnan(output(headlens::FullyMasked::kNan)) << '\n'
          << output(headlens::FullyMasked::kUniform) << '\n';
