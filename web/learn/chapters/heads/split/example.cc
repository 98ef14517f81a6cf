// SPDX-License-Identifier: Apache-2.0
#include "headlens/tensor.h"

std::array<float, 8> memory{};
std::iota(memory.begin(), memory.end(), 0.0f);
const auto x = headlens::DenseView<float, 3>(memory.data(), {1, 2, 4});  // one sequence, two tokens, width 4
const auto heads = headlens::SplitHeads(x, 2);                            // [batch, heads, tokens, width of a head]
for (const auto stride : heads.strides) std::cout << stride << ' ';
std::cout << '\n';
for (int h = 0; h < 2; ++h)
  for (int t = 0; t < 2; ++t)
    for (int i = 0; i < 2; ++i) std::cout << heads(0, h, t, i) << ' ';
std::cout << '\n';
for (const float value : memory) std::cout << value << ' ';  // merged: it never moved
