// SPDX-License-Identifier: Apache-2.0
/// Tensors of golden folders as they are stored, so that tests can change them and load the model again.
#ifndef HEADLENS_TESTS_CORE_MODELS_STORED_TENSORS_H_
#define HEADLENS_TESTS_CORE_MODELS_STORED_TENSORS_H_

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "headlens/checkpoint.h"
#include "models/golden_models.h"
#include "nlohmann/json.hpp"

namespace headlens::testing {

/// A tensor of a file, whatever its type.
struct Stored {
  std::string dtype;
  nlohmann::json shape;
  std::string bytes;
};
using StoredTensors = std::map<std::string, Stored>;

inline Index LengthOf(const std::string& file) {
  std::uint64_t length = 0;  // little-endian
  std::memcpy(&length, file.data(), sizeof length);
  return static_cast<Index>(length);
}

/// All tensors of a golden folder.
inline StoredTensors ReadTensors(const std::string& folder) {
  StoredTensors tensors;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("model") || entry.path().extension() != ".safetensors") continue;
    const std::string file = ReadText(entry.path().string());
    const auto data = 8 + static_cast<std::size_t>(LengthOf(file));
    const nlohmann::json header = nlohmann::json::parse(file.substr(8, data - 8));
    for (const auto& [name, about] : header.items()) {
      if (name == "__metadata__") continue;
      const std::size_t begin = about["data_offsets"][0], end = about["data_offsets"][1];
      tensors[name] = {about["dtype"], about["shape"], file.substr(data + begin, end - begin)};
    }
  }
  return tensors;
}

/// The file model.safetensors of these tensors.
inline std::string FileOf(const StoredTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  std::string file(8, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(file.data(), &length, sizeof length);
  return file + text + data;
}

/// Loads a model as programs do.
inline Model LoadTensors(const std::string& config, const StoredTensors& tensors,
                         const Backend& backend = SimdBackend()) {
  Checkpoint checkpoint(Index{1} << 30);
  const std::string file = FileOf(tensors);
  checkpoint.Append(checkpoint.Begin(static_cast<Index>(file.size())), std::as_bytes(std::span(file)));
  return Model(config, checkpoint.Parameters(), backend);
}

inline auto Fields(const ModelInfo& info) {
  return std::tie(info.family, info.causal, info.layers, info.heads, info.kv_heads, info.head_dim, info.hidden_size,
                  info.vocab_size, info.max_positions, info.segments, info.windows, info.image_size, info.patch_size,
                  info.channels, info.logits);
}

inline void CheckSameBits(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape() == expected.shape());
  CHECK(std::memcmp(got.data(), expected.data(), expected.values().size_bytes()) == 0);
}

/// Two models that are described alike and run alike.
inline void CheckSameModel(const Model& got, const Model& expected, const ModelInput& input) {
  CHECK(Fields(got.info()) == Fields(expected.info()));
  const ModelAttention run = got.Attend(input), other = expected.Attend(input);
  CheckSameBits(run.hidden(), other.hidden());
  const Index last = expected.info().layers - 1;
  CheckSameBits(MapOf(run, last, 0), MapOf(other, last, 0));
  if (expected.info().logits > 0) CheckSameBits(run.Logits(), other.Logits());
}

}  // namespace headlens::testing

#endif  // HEADLENS_TESTS_CORE_MODELS_STORED_TENSORS_H_
