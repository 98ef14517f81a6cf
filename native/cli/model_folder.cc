// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <filesystem>
#include <set>
#include <string_view>

#include "cli/files.h"
#include "cli/png.h"
#include "headlens/checkpoint.h"
#include "headlens/preprocess.h"
#include "nlohmann/json.hpp"
#include "tokenizer/unicode.h"

namespace headlens::cli {
namespace {

constexpr const char kSingleFile[] = "/model.safetensors";
constexpr const char kIndexFile[] = "/model.safetensors.index.json";

/// Returns true for a plain file name, without control characters or anything that leads to another folder. Spaces are
/// allowed. The npm package accepts the same names.
bool IsNameOfShard(std::string_view name) {
  constexpr std::string_view kEnding = ".safetensors";
  bool good = name.size() > kEnding.size() && name.ends_with(kEnding);
  tokenizer::ForEachCharacter(name, [&](const tokenizer::Character& character, std::size_t) {
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    good = good && character.valid && !control && character.code != '/' && character.code != '\\';
  });
  return good;
}

/// The files that an index names. All must be in the index's own folder.
std::set<std::string> ShardsOf(const std::string& path) {
  const auto index = ParseJson(File(path).text());
  const auto fail = [&path](const std::string& what) { throw InputError(path + ": format error: " + what); };
  if (!index.is_object() || !index.contains("weight_map")) fail("there is no weight_map");
  const auto& map = index["weight_map"];
  if (!map.is_object()) fail(std::string("weight_map is of the type ") + map.type_name() + ", expected an object");
  std::set<std::string> names;
  for (const auto& [tensor, name] : map.items()) {
    if (!name.is_string() || !IsNameOfShard(name.get_ref<const std::string&>()))
      fail("weight_map names " + name.dump().substr(0, 80) + ", expected names like model-00001.safetensors");
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
  ReadInfo(folder);  // reports errors in config.json before the weights are read
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
  const Picture picture = Blaming(path, [&] {
    const File file(path);
    try {
      return DecodePng(file.bytes());
    } catch (const InputError& error) {
      throw InputError(path + ": " + error.what());
    }
  });
  const std::string config = folder + "/preprocessor_config.json";
  ImageProcessor processor;
  if (std::filesystem::exists(config))
    processor = Blaming(config, [&] { return ReadImageProcessor(File(config).text()); });
  const std::span<const std::uint8_t> rgba(picture.rgba.data(), static_cast<std::size_t>(picture.rgba.size()));
  return Blaming(path, [&] { return Preprocess(rgba, picture.width, picture.height, info.image_size, processor); });
}

}  // namespace headlens::cli
