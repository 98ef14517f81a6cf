// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/model.h"
#include "headlens/safetensors.h"

const auto read = [](const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
};
const std::string weights = read("web/models/tiny-vit/model.safetensors");
const headlens::Safetensors parameters(std::as_bytes(std::span(weights)));
const headlens::Model model(read("web/models/tiny-vit/config.json"), parameters, headlens::SimdBackend());

const auto is_square = [](int x, int y) { return x >= 18 && x < 42 && y >= 6 && y < 30; };  // patches 3–6 of rows 1–4
const std::array<float, 3> purple = {0, -0.8f, 0.2f}, green = {0, 0.5f, -0.6f};  // red, green and blue from −1 to 1
const headlens::Tensor image({3, 48, 48});
for (int i = 0; i < image.size(); ++i)
  image.data()[i] = (is_square(i % 48, i / 48 % 48) ? purple : green)[static_cast<std::size_t>(i / (48 * 48))];
const headlens::ModelAttention seen = model.Attend({.image = image.view<3>()});
const headlens::Tensor logits = seen.Logits();
std::cout << std::ranges::max_element(logits.values()) - logits.values().begin() << '\n';  // 1, a square
for (const int layer : {0, 1}) {                                                           // head 2 of each
  const headlens::Tensor row({1, 64});
  seen.Map(layer, 2, {.row_end = 1, .col_begin = 1}, row.view<2>());  // of CLS on the 8 × 8 patches
  float on = 0;                                                       // on the square
  for (int patch = 0; patch < 64; ++patch) on += is_square(patch % 8 * 6, patch / 8 * 6) ? row.data()[patch] : 0;
  std::cout << std::setprecision(7) << on << '\n';
}
