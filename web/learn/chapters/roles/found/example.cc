// SPDX-License-Identifier: Apache-2.0
#include "headlens/metrics.h"

const std::array<float, 16> weights = {1, 0, 0, 0, 0.9f, 0.1f, 0, 0, 0.2f, 0.7f, 0.1f, 0, 0.1f, 0.1f, 0.6f, 0.2f};
const std::array<std::int32_t, 4> tokens = {7, 8, 7, 8};  // a sequence of two, read twice
headlens::MapInfo info;
info.causal = true;
info.tokens = tokens;
info.repeat = headlens::FindRepeat(tokens);
const headlens::HeadMap head(headlens::DenseView(weights.data(), std::array<headlens::Index, 2>{4, 4}), info);
std::cout << std::setprecision(7);
for (const char* name : {"previous", "duplicate", "induction", "entropy_normalized"})
  std::cout << headlens::FindMetric(name).function(head).value.value_or(-1) << ' ';
