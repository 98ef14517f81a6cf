// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/model.h"
#include "headlens/safetensors.h"

const auto read = [](const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
};
const std::string weights = read("web/models/tiny/model.safetensors");
const headlens::Safetensors parameters(std::as_bytes(std::span(weights)));
const headlens::Model model(read("web/models/tiny/config.json"), parameters, headlens::SimdBackend());

// <s> The queen saw the king and she laughed .
const std::array<std::int32_t, 10> ids = {0, 294, 1329, 1421, 261, 1177, 291, 370, 1850, 14};
const headlens::ModelAttention seen = model.Attend(ids);
const headlens::Index kAnd = 6;
const headlens::Tensor row({1, 10});
seen.Map(3, 4, {.row_begin = kAnd, .row_end = kAnd + 1}, row.view<2>());  // layer 3, head 4
std::cout << std::setprecision(7);
for (const float share : row.values()) std::cout << share << ' ';  // of each token
std::cout << '\n' << std::accumulate(row.values().begin(), row.values().end(), 0.0f);
