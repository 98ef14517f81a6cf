// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

std::cout << std::setprecision(7);
const std::array<float, 5> bias = {0, 0, 0, 1, 0};  // for distances from -2 to 2
const auto attend = [](const std::array<float, 6>& x, headlens::AttentionProblem problem) {
  std::array<float, 6> output{};
  problem.q = headlens::DenseView<const float, 4>(x.data(), {1, 1, 3, 2});
  problem.k = problem.v = headlens::DenseView<const float, 4>(x.data(), {1, 1, 3, 2});
  problem.scale = headlens::DefaultScale(2);
  headlens::AttentionResults results;
  results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 3, 2});
  headlens::SimdBackend().Attention(problem, results);
  for (const float value : output) std::cout << value << ' ';
};
const std::array<float, 6> dog_bites_man = {1, 0.5f, 0, 2, -1, 1}, man_bites_dog = {-1, 1, 0, 2, 1, 0.5f};
headlens::AttentionProblem problem;
attend(dog_bites_man, problem);
attend(man_bites_dog, problem);  // the same rows, in the other order
problem.position_bias.relative = headlens::DenseView<const float, 2>(bias.data(), {1, 5});
attend(dog_bites_man, problem);
attend(man_bites_dog, problem);  // other numbers
