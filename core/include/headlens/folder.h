// SPDX-License-Identifier: Apache-2.0
/// The files of a Hugging Face folder, for whoever fetches them.
#ifndef HEADLENS_FOLDER_H_
#define HEADLENS_FOLDER_H_

#include <string>
#include <string_view>
#include <vector>

namespace headlens {

inline constexpr char kConfigFile[] = "config.json";
inline constexpr char kTokenizerFile[] = "tokenizer.json";            ///< of models that read texts
inline constexpr char kProcessorFile[] = "preprocessor_config.json";  ///< of models that read images; may be absent
inline constexpr char kWeightsFile[] = "model.safetensors";
/// Names the files of the weights where kWeightsFile is absent.
inline constexpr char kIndexFile[] = "model.safetensors.index.json";

/// The files of the weights that an index names: each once, by a plain name, as all of them lie beside the index.
/// Throws kFormat for what is no index, for a name that could lead elsewhere, and for more files than any model has.
std::vector<std::string> ReadShardNames(std::string_view index);

}  // namespace headlens

#endif  // HEADLENS_FOLDER_H_
