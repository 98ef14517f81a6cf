// SPDX-License-Identifier: Apache-2.0
#include "headlens/error.h"
#include "headlens/multihead.h"

const auto fits = [](headlens::Index width, headlens::Index heads) {
  headlens::MultiheadConfig config;
  config.embed_dim = width;
  config.num_heads = heads;
  try {
    headlens::Validate(config);
    return true;
  } catch (const headlens::Error&) {  // “`embed_dim` is 16, expected a multiple of `num_heads`, 3”
    return false;
  }
};
for (headlens::Index heads = 1; heads <= 8; ++heads) std::cout << std::boolalpha << fits(16, heads) << ' ';
