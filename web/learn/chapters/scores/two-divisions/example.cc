// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

std::cout << std::setprecision(7);
for (const auto& [width, score] : {std::pair{4, 8.0f}, {64, 32.0f}}) {
  std::vector<float> query(width), keys(4 * width);  // one key has this score, and the others have 0
  query[0] = score;
  keys[0] = 1;
  std::array<float, 4> scaled{}, weights{};
  headlens::AttentionProblem problem;
  problem.q = headlens::DenseView<const float, 4>(query.data(), {1, 1, 1, width});
  problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 4, width});
  headlens::AttentionResults results;
  results.scaled_scores = headlens::DenseView<float, 4>(scaled.data(), {1, 1, 1, 4});
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 4});
  problem.scale = headlens::DefaultScale(width);
  headlens::SimdBackend().Attention(problem, results);
  std::cout << scaled[0] << ' ' << weights[0] << ' ';
  problem.scale = 1;
  headlens::SimdBackend().Attention(problem, results);
  std::cout << weights[0] << '\n';
}
