// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

using Column = std::array<float, 2>;  // a number for each of two tokens
std::cout << std::setprecision(7);
const auto print = [](const Column& q, const Column& k, const Column& v) {
  std::array<float, 4> weights{};
  Column output{};
  headlens::AttentionProblem problem;
  problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 2, 1});
  problem.k = headlens::DenseView<const float, 4>(k.data(), {1, 1, 2, 1});
  problem.v = headlens::DenseView<const float, 4>(v.data(), {1, 1, 2, 1});
  headlens::AttentionResults results;
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 2});
  results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 2, 1});
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << weight << ' ';
  std::cout << output[0] << ' ' << output[1] << '\n';
};
print({1, 2}, {0.5f, 1}, {1, 3});
print({1, -2}, {0.5f, 1}, {1, 3});  // another query of token 1: its row of weights changes
print({1, 2}, {0.5f, -1}, {1, 3});  // another key of token 1: both rows change
print({1, 2}, {0.5f, 1}, {1, -3});  // another value of token 1: only the outputs change
