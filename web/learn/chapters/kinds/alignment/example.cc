// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/model.h"
#include "headlens/safetensors.h"

const auto read = [](const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
};
const std::string weights = read("web/models/tiny-translator/model.safetensors");
const headlens::Safetensors parameters(std::as_bytes(std::span(weights)));
const headlens::Model model(read("web/models/tiny-translator/config.json"), parameters, headlens::SimdBackend());

// the red horse does not sleep </s>, and its translation: (start) le cheval rouge ne dort pas
const std::array<std::int32_t, 7> english = {2081, 1749, 1094, 758, 1441, 1957, 0};
const std::array<std::int32_t, 7> french = {2412, 1238, 550, 1858, 1416, 782, 1562};
headlens::ModelInput input;
input.source = english;
input.ids = french;
const headlens::Tensor map({7, 7});
model.Attend(input).Maps(1, headlens::AttentionPart::kCross).Map(0, 0, {}, map.view<2>());  // layer 1, head 0
for (int row = 0; row < 7; ++row) {  // a row for each French token, which writes the next
  const float* first = map.data() + 7 * row;
  const float* most = std::max_element(first, first + 7);  // the English token that it looks at most
  std::cout << most - first << ' ' << std::setprecision(7) << *most << '\n';
}
