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
for (const auto& [layer, head] : {std::pair{0, 5}, {3, 4}, {1, 0}}) {  // previous token, a specific link, first token
  const headlens::Tensor row({1, 10});
  seen.Map(layer, head, {.row_begin = 6, .row_end = 7}, row.view<2>());  // the row of “and”
  const auto most = std::ranges::max_element(row.values());              // the token that it looks at most
  std::cout << most - row.values().begin() << ' ' << std::setprecision(7) << *most << '\n';
}
