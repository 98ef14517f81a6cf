// SPDX-License-Identifier: Apache-2.0
#include "headlens/position_tables.h"

std::cout << std::setprecision(7);
const headlens::Tensor start = headlens::SinusoidalPositions(4, 6);      // positions 0 to 3, six numbers each
const headlens::Tensor later = headlens::SinusoidalPositions(4, 6, 50);  // positions 50 to 53
for (int i = 0; i < 24; ++i) std::cout << start.data()[i] << ' ';
for (int i = 0; i < 24; ++i) std::cout << later.data()[i] << ' ';
for (const float* p : {start.data(), later.data()}) std::cout << std::inner_product(p, p + 6, p + 18, 0.0f) << ' ';
