// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
std::cout << std::setprecision(7);
for (const std::size_t back : {1, 10}) {            // how far back the token stands that the last of twelve needs
  const double memory = 0.3 * std::pow(0.7, back);  // it came in with 0.3, and each step since then kept 0.7 of that
  const std::size_t needed = 11 - back;
  std::array<float, 12> keys{}, weights{};  // with a query of 1, keys are the scores
  keys[needed] = 5;
  headlens::AttentionProblem problem;
  problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
  problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 12, 1});
  problem.scale = 1;
  headlens::AttentionResults results;
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 12});
  headlens::SimdBackend().Attention(problem, results);
  std::cout << memory << ' ' << weights[needed] << '\n';
}
