// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 5> keys = {1.2f, 1, 0.1f, -0.5f, -2};  // with a query of 1, they are the scores
std::array<float, 5> weights{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = problem.v = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 5, 1});
problem.scale = 1;
headlens::AttentionResults results;  // shapes are [batch, heads, queries, keys]
results.weights = headlens::DenseView<float, 4>(weights.data(), {1, 1, 1, 5});
using Kind = headlens::NormalizerKind;
for (const Kind kind : {Kind::kSoftmax, Kind::kSparsemax, Kind::kSigmoid}) {
  problem.normalizer.kind = kind;
  headlens::SimdBackend().Attention(problem, results);
  for (const float weight : weights) std::cout << std::setprecision(7) << weight << ' ';
  std::cout << '\n';
}
