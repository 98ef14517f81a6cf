// SPDX-License-Identifier: Apache-2.0
#include "headlens/position_tables.h"

std::cout << std::setprecision(7);
for (const float slope : headlens::AlibiSlopes(8)) std::cout << slope << ' ';  // one for each head
for (const int distance : {0, 1, 7, 8, 15, 16, 90, 91, 128, 500})
  std::cout << headlens::T5Bucket(-distance, 32, true, 128) << ' ';  // of earlier tokens
