// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {std::log(.6f), std::log(.3f), std::log(.1f)};  // their softmax: 0.6, 0.3, 0.1
std::array<float, 2> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.scale = 1;
headlens::AttentionResults results;
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 1, 2});
std::cout << std::setprecision(7);
for (const float mat : {3.0f, 0.0f}) {  // the first number of the last value
  const std::array<float, 6> values = {1, 0, 0, 2, mat, 1};
  problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 3, 2});
  headlens::SimdBackend().Attention(problem, results);
  std::cout << output[0] << ' ' << output[1] << '\n';
}
