// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/position_tables.h"

std::array<float, 10> x = {1, 0.5f, 0, 2, -1, 1, 1, 0.5f, 2, -1}, output{};  // the dog saw the cat, two numbers each
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(x.data(), {1, 1, 5, 2});
problem.k = problem.v = headlens::DenseView<const float, 4>(x.data(), {1, 1, 5, 2});
problem.scale = headlens::DefaultScale(2);
headlens::AttentionResults results;
results.output = headlens::DenseView<float, 4>(output.data(), {1, 1, 5, 2});
const auto print_both_the = [&] {
  headlens::SimdBackend().Attention(problem, results);
  std::cout << output[0] << ' ' << output[1] << ' ' << output[6] << ' ' << output[7] << '\n';
};
std::cout << std::setprecision(7);
print_both_the();
const headlens::Tensor positions = headlens::SinusoidalPositions(5, 2);
for (std::size_t i = 0; i < x.size(); ++i) x[i] += positions.data()[i];
print_both_the();
