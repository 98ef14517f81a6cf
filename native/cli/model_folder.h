// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_CLI_MODEL_FOLDER_H_
#define HEADLENS_NATIVE_CLI_MODEL_FOLDER_H_

#include <string>

#include "cli/commands.h"
#include "headlens/model.h"

namespace headlens::cli {

/// Adds "--model", the folder of a model. The name of a built-in model stands for its folder, unless there is a folder
/// of that name here.
CLI::Option* AddModelOption(CLI::App& command, std::string& model);

/// The path of a file that the folder should have. Where it has one of a format that is not read instead, throws
/// InputError, which says what to do.
std::string ExpectedFile(const std::string& folder, const std::string& file);

/// Reads the folder's config.json. Throws InputError, naming the file.
ModelConfig ReadConfig(const std::string& folder);

/// Reads the weights of a Hugging Face folder: model.safetensors, or the shards that model.safetensors.index.json
/// names. It reads tensor by tensor, so no file is ever in memory as a whole. Throws InputError, naming the file.
Model LoadModelFolder(const std::string& folder, const ModelConfig& config, const Backend& backend);

/// Throws InputError unless --image, the file `path`, is given to a model that reads pictures, and to no other.
void ExpectImage(bool reads_pictures, const std::string& path);

/// Reads a PNG picture for the folder's model, prepared as preprocessor_config.json says if there is one: [channels,
/// image_size, image_size]. Throws InputError, naming the file.
Tensor ReadImage(const std::string& folder, const std::string& path, const ModelInfo& info);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MODEL_FOLDER_H_
