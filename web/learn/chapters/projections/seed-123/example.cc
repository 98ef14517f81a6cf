// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

// Waves stand for random numbers: they are the same in all languages, and of about the size that is drawn.
const auto wave = [](int rows, double step, double size) {
  std::vector<float> numbers;
  for (int i = 0; i < rows * 16; ++i) numbers.push_back(static_cast<float>(size * std::sin(step * i)));
  return numbers;
};
const auto table = wave(6, 2.3, 1.4), wq = wave(8, 1.9, 0.2), wk = wave(8, 2.7, 0.2);
const auto project = [&](const std::vector<float>& w, float factor) {
  std::array<float, 4 * 8> rows{};
  for (const std::size_t id : {0, 1, 2, 3})
    for (std::size_t i = 0; i < 8; ++i)
      rows[8 * id + i] = factor * std::inner_product(&table[16 * id], &table[16 * id] + 16, &w[16 * i], 0.0f);
  return rows;
};
std::cout << std::setprecision(7);
for (const float factor : {1.0f, 8.0f}) {  // queries and keys as they are drawn, and as training may make them
  const auto q = project(wq, factor), k = project(wk, factor);
  std::array<float, 16> weights{};
  headlens::AttentionProblem problem;
  problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 4, 8});
  problem.k = headlens::DenseView<const float, 4>(k.data(), {1, 1, 4, 8});
  problem.scale = headlens::DefaultScale(8);
  headlens::AttentionResults results;
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 4, 4});
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << weight << ' ';
}
