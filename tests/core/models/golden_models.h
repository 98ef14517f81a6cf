// SPDX-License-Identifier: Apache-2.0
/// The golden models (tests/golden/make_models.py) with their inputs and PyTorch's results.
#ifndef HEADLENS_TESTS_CORE_MODELS_GOLDEN_MODELS_H_
#define HEADLENS_TESTS_CORE_MODELS_GOLDEN_MODELS_H_

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "headlens/model.h"
#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {

/// The names of all golden models, sorted.
inline std::vector<std::string> GoldenModels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(HEADLENS_GOLDEN_DIR "/models"))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  REQUIRE(names.size() >= 28);
  return names;
}

template <class T>
std::vector<T> Integers(const Safetensors& file, std::string_view name) {
  const std::optional<RawTensor> raw = file.Find(name);
  if (!raw) return {};
  std::vector<T> values;
  for (Index i = 0; i < ElementCount(raw->shape); ++i) {
    std::int64_t value = 0;  // little-endian and not negative
    std::memcpy(&value, raw->data + static_cast<std::size_t>(i) * ByteSize(raw->dtype), ByteSize(raw->dtype));
    values.push_back(static_cast<T>(value));
  }
  return values;
}

/// The input of a model and PyTorch's results.
struct Golden {
  explicit Golden(const std::string& path)
      : bytes(ReadFile(path)),
        file(bytes),
        ids(Integers<std::int32_t>(file, "ids")),
        segments(Integers<std::int32_t>(file, "segments")),
        padding(Integers<std::uint8_t>(file, "padding")) {
    if (file.Find("image")) image = Expected("image");
    input.ids = ids;
    input.segments = segments;
    input.padding = padding;
    if (image.size() > 0) input.image = image.view<3>();
  }

  Tensor Expected(std::string_view name) const { return ToFloat(file.Find(name).value()); }

  std::vector<std::byte> bytes;
  Safetensors file;
  std::vector<std::int32_t> ids, segments;
  std::vector<std::uint8_t> padding;
  Tensor image;
  ModelInput input;
};

/// The names of all golden encoder–decoders (tests/golden/make_encoder_decoders.py), and their folders.
inline const std::vector<std::string>& GoldenPairs() {
  static const std::vector<std::string> names = {"marian", "t5", "t5_gated"};
  return names;
}
inline std::string PairFolder(const std::string& name) { return HEADLENS_GOLDEN_DIR "/encoder_decoders/" + name; }

/// The source and the target of an encoder–decoder, and the library's results.
struct GoldenPair {
  explicit GoldenPair(const std::string& name)
      : bytes(ReadFile(PairFolder(name) + "/expected.safetensors")),
        file(bytes),
        source(Integers<std::int32_t>(file, "source_ids")),
        target(Integers<std::int32_t>(file, "target_ids")),
        padding(Integers<std::uint8_t>(file, "padding")) {
    input.ids = target;
    input.source = source;
    input.source_padding = padding;
  }
  Tensor Expected(const std::string& name) const { return ToFloat(*file.Find(name)); }

  std::vector<std::byte> bytes;
  Safetensors file;
  std::vector<std::int32_t> source, target;
  std::vector<std::uint8_t> padding;
  ModelInput input;
};

inline Tensor MapOf(const ModelAttention& attention, Index layer, Index head) {
  Tensor map({attention.length(), attention.length()});
  attention.Map(layer, head, {}, map.view<2>());
  return map;
}

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_CORE_MODELS_GOLDEN_MODELS_H_
