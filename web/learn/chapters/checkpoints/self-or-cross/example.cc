// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

using View = headlens::DeviceView<const float, 4>;
const std::array<float, 8> memory = {0.5f, -0.8f, 1.8f, 0.9f, -0.2f, -0.5f, -0.9f, 1.6f};
const View other = headlens::DenseView<const float, 4>(memory.data(), {1, 1, 4, 2});
const auto print_first = [](const View& asking, const View& asked) {
  std::array<float, 6> output{};
  headlens::AttentionProblem problem;
  problem.q = asking;
  problem.k = problem.v = asked;
  problem.scale = headlens::DefaultScale(2);
  headlens::AttentionResults results;
  results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 3, 2});
  headlens::SimdBackend().Attention(problem, results);
  std::cout << std::setprecision(7) << output[0] << ' ' << output[1] << ' ';
};
for (const float push : {0, 1}) {  // the second token changes, and we look at the output of the first
  const std::array<float, 6> tokens = {0.5f, -1, 2 + push, 1 + push, -1, 1.5f};
  const View x = headlens::DenseView<const float, 4>(tokens.data(), {1, 1, 3, 2});
  print_first(x, x);
  print_first(x, other);
}
