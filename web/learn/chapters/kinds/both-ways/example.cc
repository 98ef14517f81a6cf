// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/model.h"
#include "headlens/safetensors.h"

const auto read = [](const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
};
const auto print = [&](const std::string& folder, std::span<const std::int32_t> mat,
                       std::span<const std::int32_t> chair) {
  const std::string weights = read(folder + "/model.safetensors");
  const headlens::Safetensors parameters(std::as_bytes(std::span(weights)));
  const headlens::Model model(read(folder + "/config.json"), parameters, headlens::SimdBackend());
  headlens::AttendOptions options;
  options.keep_hidden = true;
  const auto before = model.Attend({.ids = mat}, options), after = model.Attend({.ids = chair}, options);
  for (headlens::Index token = 0; token < before.length(); ++token) {
    double square = 0;
    for (headlens::Index i = 128 * token; i < 128 * (token + 1); ++i)
      square += std::pow(before.Hidden(3).data()[i] - after.Hidden(3).data()[i], 2);
    std::cout << std::setprecision(7) << std::sqrt(square) << ' ';  // how far the token's vector moves before layer 3
  }
  std::cout << '\n';
};
// The cat sat on the mat, and The cat sat on the chair, for a decoder and an encoder
print("web/models/tiny", std::array{0, 294, 907, 1007, 320, 261, 685}, std::array{0, 294, 907, 1007, 320, 261, 873});
print("web/models/tiny-bert", std::array{2, 110, 607, 555, 146, 110, 462, 3},
      std::array{2, 110, 607, 555, 146, 110, 685, 3});
