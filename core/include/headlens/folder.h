// SPDX-License-Identifier: Apache-2.0
/// The names of the files in a Hugging Face folder, for programs that fetch them.
#ifndef HEADLENS_FOLDER_H_
#define HEADLENS_FOLDER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlens {

inline constexpr char kConfigFile[] = "config.json";
inline constexpr char kTokenizerFile[] = "tokenizer.json";            ///< of models that read texts
inline constexpr char kProcessorFile[] = "preprocessor_config.json";  ///< of models that read images; may be absent
inline constexpr char kWeightsFile[] = "model.safetensors";
/// The file that names the weights' files when there is no kWeightsFile.
inline constexpr char kIndexFile[] = "model.safetensors.index.json";

/// The files of the weights that an index names, each once. They are plain names, since all files are next to the
/// index. Throws kFormat when `index` is not an index, for a name that could lead to another folder, and for more files
/// than any model has.
std::vector<std::string> ReadShardNames(std::string_view index);

/// For a folder without the file `missing`, one of the above, of which `names` are all files: throws kUnsupported when
/// a file of a format that is not read is in its place. The error says what that is, and what to do.
void RefuseOtherFormats(std::string_view missing, std::span<const std::string> names);

}  // namespace headlens

#endif  // HEADLENS_FOLDER_H_
