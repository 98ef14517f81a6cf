// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 8> x = {1, 0, 2, 1, 0, 1, 1, 3};  // two tokens of width 4, two heads
std::array<float, 8> output{};
headlens::AttentionProblem problem;
problem.q = headlens::SplitHeads(headlens::DenseView<const float, 3>(x.data(), {1, 2, 4}), 2);
problem.k = problem.v = problem.q;
problem.scale = headlens::DefaultScale(2);
headlens::AttentionResults results;
results.output = headlens::SplitHeads(headlens::DenseView<float, 3>(output.data(), {1, 2, 4}), 2);
for (const std::array<float, 2> mask : {std::array<float, 2>{1, 1}, std::array<float, 2>{0, 1}}) {
  problem.head_mask = headlens::DenseView<const float, 2>(mask.data(), {1, 2});
  headlens::SimdBackend().Attention(problem, results);
  for (const float value : output) std::cout << std::setprecision(7) << value << ' ';
  std::cout << '\n';
}
