// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const std::array<float, 4> queries{};  // four query heads, two key/value heads
const std::array<float, 2> keys{}, values = {10, 20};
std::array<float, 4> output{};
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(queries.data(), {1, 4, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 2, 1, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 2, 1, 1});
headlens::AttentionResults results;
results.output = headlens::DenseView<float, 4>(output.data(), {1, 4, 1, 1});
for (const auto order : {headlens::GqaOrder::kBlock, headlens::GqaOrder::kInterleaved}) {
  problem.gqa_order = order;
  headlens::SimdBackend().Attention(problem, results);
  for (const float read : output) std::cout << read << ' ';
}
