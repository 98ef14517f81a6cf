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

// the king 's cat never sleeps </s>, and its translation: (start) le chat du roi ne dort jamais
const std::array<std::int32_t, 7> english = {2081, 1193, 2, 499, 1430, 1959, 0};
const std::array<std::int32_t, 8> french = {2412, 1238, 527, 811, 1844, 1416, 782, 1147};
headlens::ModelInput input;
input.source = english;
input.ids = french;
const headlens::ModelAttention seen = model.Attend(input);
using Part = headlens::AttentionPart;
for (const Part part : {Part::kEncoder, Part::kDecoder, Part::kCross}) {
  const headlens::AttentionMaps& maps = seen.Maps(1, part);
  const headlens::Index rows = maps.queries(), columns = maps.keys();
  const headlens::Tensor map({rows, columns});
  maps.Map(0, 0, {}, map.view<2>());  // layer 1, head 0
  float ahead = 0;                    // all weights above the diagonal: 0 in the decoder
  for (int i = 0; i < map.size(); ++i) ahead += i % columns > i / columns ? map.data()[i] : 0;
  std::cout << rows << ' ' << columns << ' ' << std::setprecision(7) << ahead << '\n';
}
