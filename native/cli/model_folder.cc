// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <filesystem>
#include <set>

#include "cli/files.h"
#include "cli/png.h"
#include "headlens/checkpoint.h"
#include "headlens/preprocess.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

constexpr const char kSingleFile[] = "/model.safetensors";
constexpr const char kIndexFile[] = "/model.safetensors.index.json";

/// The files that an index names: each beside it, never elsewhere.
std::set<std::string> ShardsOf(const std::string& path) {
  const auto index = ParseJson(File(path).text());
  const auto fail = [&path](const std::string& what) { throw InputError(path + ": format error: " + what); };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    fail("there is no weight_map");
  }
  std::set<std::string> names;
  for (const auto& [tensor, name] : index["weight_map"].items()) {
    const bool plain = name.is_string() && name.get<std::string>().ends_with(".safetensors") &&
                       name.get<std::string>().find_first_of("/\\") == std::string::npos;
    if (!plain) fail("weight_map names " + name.dump().substr(0, 80) + ", expected names like model-00001.safetensors");
    names.insert(name.get<std::string>());
  }
  return names;
}

std::set<std::string> WeightFiles(const std::string& folder) {
  std::error_code unreadable;
  const bool sharded = !std::filesystem::exists(folder + kSingleFile, unreadable) &&
                       std::filesystem::exists(folder + kIndexFile, unreadable);
  if (!sharded) return {folder + kSingleFile};
  std::set<std::string> paths;
  for (const std::string& name : ShardsOf(folder + kIndexFile)) paths.insert(folder + "/" + name);
  return paths;
}

}  // namespace

ModelInfo ReadInfo(const std::string& folder) {
  const std::string path = folder + "/config.json";
  return Blaming(path, [&] { return ReadModelInfo(File(path).text()); });
}

Model LoadModelFolder(const std::string& folder, const Backend& backend) {
  ReadInfo(folder);  // what is wrong with it is said before the weights are read
  Checkpoint checkpoint(MostBytes());
  for (const std::string& path : WeightFiles(folder)) {
    FileReader file(path);
    Blaming(path, [&] {
      const int shard = checkpoint.Begin(file.size());
      for (std::span<std::byte> next; !(next = checkpoint.Next(shard)).empty();)
        checkpoint.Advance(shard, file.Read(next));
    });
  }
  const File config(folder + "/config.json");
  return Blaming(folder, [&] { return Model(config.text(), checkpoint.Parameters(), backend); });
}

Tensor ReadImage(const std::string& folder, const std::string& path, const ModelInfo& info) {
  const Picture picture = [&] {
    const File file(path);
    try {
      return DecodePng(file.bytes());
    } catch (const InputError& error) {
      throw InputError(path + ": " + error.what());
    }
  }();
  const std::string config = folder + "/preprocessor_config.json";
  ImageProcessor processor;
  if (std::filesystem::exists(config))
    processor = Blaming(config, [&] { return ReadImageProcessor(File(config).text()); });
  return Blaming(path,
                 [&] { return Preprocess(picture.rgba, picture.width, picture.height, info.image_size, processor); });
}

}  // namespace headlens::cli
