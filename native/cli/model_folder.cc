// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <algorithm>
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

/// The names of the folder's files, sorted; that of the file alone when it is one.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(folder, unreadable))
    names.push_back(std::filesystem::path(folder).filename().string());
  for (std::filesystem::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end;
       entry.increment(unreadable))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The file of the weights, or the shards that the index names.
std::vector<std::string> WeightFiles(const std::string& folder) {
  const std::string index = PathOf(folder, kIndexFile);
  std::error_code unreadable;
  const bool is_whole = std::filesystem::exists(PathOf(folder, kWeightsFile), unreadable);
  if (is_whole || !std::filesystem::exists(index, unreadable)) return {ExpectedFile(folder, kWeightsFile)};
  std::vector<std::string> files = Blaming(index, [&] { return ReadShardNames(File(index).text()); });
  for (std::string& file : files) file = PathOf(folder, file);
  return files;
}

/// The folder of the built-in model of this name, installed or in the sources; `model` itself where there is none.
std::string FolderOf(const std::string& model) {
  std::error_code unreadable;
  if (std::filesystem::exists(model, unreadable) || std::filesystem::path(model).has_parent_path()) return model;
  for (const std::string& models : {InstalledPath("models"), std::string(HEADLENS_MODELS)}) {
    const std::string folder = PathOf(models, model);
    if (std::filesystem::exists(PathOf(folder, kConfigFile), unreadable)) return folder;
  }
  return model;
}

}  // namespace

CLI::Option* AddModelOption(CLI::App& command, std::string& model) {
  return command
      .add_option("--model", model,
                  "tiny, tiny-bert, tiny-vit or tiny-translator, or a folder as Hugging Face has it: config.json, "
                  "model.safetensors or its shards, tokenizer.json")
      ->transform([](const std::string& given) { return FolderOf(given); })
      ->type_name("MODEL");
}

std::string ExpectedFile(const std::string& folder, const std::string& file) {
  const std::string path = PathOf(folder, file);
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) Blaming(folder, [&] { RefuseOtherFormats(file, NamesIn(folder)); });
  return path;
}

ModelConfig ReadConfig(const std::string& folder) {
  const std::string path = ExpectedFile(folder, kConfigFile);
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
