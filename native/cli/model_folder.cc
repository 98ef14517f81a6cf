// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <filesystem>
#include <vector>

#include "base/words.h"
#include "cli/files.h"
#include "cli/png.h"
#include "headlens/checkpoint.h"
#include "headlens/folder.h"
#include "headlens/preprocess.h"

namespace headlens::cli {
namespace {

std::string PathOf(const std::string& folder, const std::string& file) { return folder + "/" + file; }

/// The file of the weights, or the shards that the index names.
std::vector<std::string> WeightFiles(const std::string& folder) {
  const std::string single = PathOf(folder, kWeightsFile), index = PathOf(folder, kIndexFile);
  std::error_code unreadable;
  const bool sharded = !std::filesystem::exists(single, unreadable) && std::filesystem::exists(index, unreadable);
  if (!sharded) return {single};
  std::vector<std::string> files = Blaming(index, [&] { return ReadShardNames(File(index).text()); });
  for (std::string& file : files) file = PathOf(folder, file);
  return files;
}

}  // namespace

ModelConfig ReadConfig(const std::string& folder) {
  const std::string path = PathOf(folder, kConfigFile);
  return Blaming(path, [&] { return ModelConfig(File(path).text()); });
}

Model LoadModelFolder(const std::string& folder, const ModelConfig& config, const Backend& backend) {
  Checkpoint checkpoint(MostBytes());
  for (const std::string& path : WeightFiles(folder)) {
    FileReader file(path);
    Blaming(path, [&] {
      const int shard = checkpoint.Begin(file.size());
      for (std::span<std::byte> next; !(next = checkpoint.Next(shard)).empty();)
        checkpoint.Advance(shard, file.Read(next));
    });
  }
  return Blaming(folder, [&] { return Model(config, checkpoint.Parameters(), backend); });
}

void ExpectImage(bool reads_pictures, const std::string& path) {
  if (reads_pictures && path.empty())
    throw InputError(MissingError(ErrorCode::kOption, "--image", "a picture, which the model reads"));
  if (!reads_pictures && !path.empty())
    throw InputError(OptionError("--image", Quoted(path), "none: the model reads tokens"));
}

Tensor ReadImage(const std::string& folder, const std::string& path, const ModelInfo& info) {
  const Picture picture = Blaming(path, [&] {
    const File file(path);
    return DecodePng(path, file.bytes());
  });
  const std::string path_of_processor = PathOf(folder, kProcessorFile);
  ImageProcessor processor;
  if (std::filesystem::exists(path_of_processor))
    processor = Blaming(path_of_processor, [&] { return ReadImageProcessor(File(path_of_processor).text()); });
  const std::span<const std::uint8_t> rgba(picture.rgba.data(), static_cast<std::size_t>(picture.rgba.size()));
  return Blaming(path, [&] { return Preprocess(rgba, picture.width, picture.height, info.image_size, processor); });
}

}  // namespace headlens::cli
