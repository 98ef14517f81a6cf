// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/attention_maps.h"
#include "headlens/backend.h"

std::vector<float> q(2000 * 2), k(2000 * 2), lse(2000);
for (int i = 0; i < 2000 * 2; ++i) {
  q[static_cast<std::size_t>(i)] = static_cast<float>(std::sin(i));
  k[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(i));
}
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(q.data(), {1, 1, 2000, 2});
problem.k = headlens::DenseView<const float, 4>(k.data(), {1, 1, 2000, 2});
headlens::AttentionResults results;
results.lse = headlens::DenseView<float, 3>(lse.data(), {1, 1, 2000});  // a number for each row
headlens::SimdBackend().Attention(problem, results);
const float score = q[2 * 1999] * k[2 * 1500] + q[2 * 1999 + 1] * k[2 * 1500 + 1];
const headlens::AttentionMaps maps(problem, headlens::SimdBackend());  // stores no map, either
float weight = 0;
maps.Map(0, 0, {1999, 2000, 1500, 1501}, headlens::DenseView<float, 2>(&weight, {1, 1}));
std::cout << std::setprecision(7) << lse[1999] << ' ' << 1000 * std::exp(score - lse[1999]) << ' ' << 1000 * weight;
