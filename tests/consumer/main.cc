// SPDX-License-Identifier: Apache-2.0
// Uses headlens from its public headers alone; exits with 0 when the numbers are right.
#include <array>
#include <cmath>
#include <cstdio>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/version.h"

int main() {
  // One head, two tokens of width two: q = k = v = the unit vectors, so each row's weights are softmax(scale, 0).
  const std::array<float, 4> x = {1, 0, 0, 1};
  std::array<float, 4> weights{};
  const headlens::View<const float, 4> tokens = headlens::DenseView<const float, 4>(x.data(), {1, 1, 2, 2});
  headlens::AttentionProblem problem;
  problem.q = tokens;
  problem.k = problem.v = tokens;
  problem.scale = headlens::DefaultScale(2);
  headlens::AttentionResults results;
  results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 2, 2});
  headlens::SimdBackend().Attention(problem, results);

  const float own = 1 / (1 + std::exp(-1 / std::sqrt(2.0f)));
  std::printf("headlens %s on %s: %g, expected %g\n", headlens::Version(), headlens::SimdTarget().data(), weights[0],
              own);
  const std::array<float, 4> expected = {own, 1 - own, 1 - own, own};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(weights[i] - expected[i]) < 1e-6f)) return 1;
  }
  return 0;
}
