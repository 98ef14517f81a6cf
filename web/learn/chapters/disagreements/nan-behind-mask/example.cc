// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention.h"
#include "headlens/backend.h"

const float query = 1;
const std::array<float, 3> keys = {2, 1, 0}, values = {4, 0, NAN};
const std::array<std::uint8_t, 3> hidden = {0, 0, 1};
float output = 0;
headlens::AttentionProblem problem;
problem.q = headlens::DenseView<const float, 4>(&query, {1, 1, 1, 1});
problem.k = headlens::DenseView<const float, 4>(keys.data(), {1, 1, 3, 1});
problem.v = headlens::DenseView<const float, 4>(values.data(), {1, 1, 3, 1});
problem.mask.key_padding = headlens::DenseView<const std::uint8_t, 2>(hidden.data(), {1, 3});
headlens::AttentionResults results;
results.output = headlens::DenseView<float, 4>(&output, {1, 1, 1, 1});
headlens::SimdBackend().Attention(problem, results);
std::cout << std::setprecision(7) << output << '\n';
problem.masked_nan = headlens::MaskedNan::kSpreads;
headlens::SimdBackend().Attention(problem, results);
std::cout << std::isnan(output) << '\n';
