// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 8> scores = {1, 3, 2, 0, 6, 4, 1, 5};
const std::array<float, 8> values = {10, 20, 30, 40, 50, 60, 70, 80};
struct Part {
  float lse = 0, output = 0;
};
const auto attend = [&](headlens::Index from, headlens::Index to) {
  const float one = 1;  // with a query of 1, keys are scores
  Part part;
  headlens::AttentionProblem problem;
  problem.q = headlens::DenseView<const float, 4>(&one, {1, 1, 1, 1});
  problem.k = headlens::DenseView<const float, 4>(scores.data() + from, {1, 1, to - from, 1});
  problem.v = headlens::DenseView<const float, 4>(values.data() + from, {1, 1, to - from, 1});
  headlens::AttentionResults results;
  results.lse = headlens::DenseView<float, 3>(&part.lse, {1, 1, 1});
  results.output = headlens::DenseView<float, 4>(&part.output, {1, 1, 1, 1});
  headlens::SimdBackend().Attention(problem, results);
  return part;
};
const Part a = attend(0, 4), b = attend(4, 8), whole = attend(0, 8);
const float lse = std::log(std::exp(a.lse) + std::exp(b.lse));  // of both blocks
const float output = a.output * std::exp(a.lse - lse) + b.output * std::exp(b.lse - lse);
std::cout << std::setprecision(7) << lse << ' ' << output << ' ' << whole.lse << ' ' << whole.output;
