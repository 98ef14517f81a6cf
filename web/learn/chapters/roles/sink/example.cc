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
headlens::AttendOptions options;
options.keep_values = true;
const headlens::ModelAttention seen = model.Attend({.ids = ids}, options);
const headlens::Tensor first({10, 1});
seen.Map(1, 0, {.col_end = 1}, first.view<2>());  // layer 1, head 0: the weight that each token gives to <s>
std::cout << std::setprecision(7);
for (const float weight : first.values()) std::cout << weight << ' ';
for (int token = 0; token < 10; ++token) {  // values are [token, head · width]
  const float* value = seen.Values(1).data() + 128 * token;
  std::cout << std::sqrt(std::inner_product(value, value + 16, value, 0.0)) << ' ';  // that of <s> is the shortest
}
