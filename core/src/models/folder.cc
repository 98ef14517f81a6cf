// SPDX-License-Identifier: Apache-2.0
#include "headlens/folder.h"

#include <set>

#include "files/json.h"

namespace headlens {
namespace {

Error NamesError(const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kFormat, {kIndexFile, ": weight_map"}, "names", got, expected);
}

constexpr std::size_t kMostShards = 1000;
constexpr std::string_view kEnding = ".safetensors";

/// Returns true for a plain file name, without control characters or anything that leads to another folder. Spaces are
/// allowed.
bool IsShardName(std::string_view name) {
  if (name.size() <= kEnding.size() || !name.ends_with(kEnding)) return false;
  if (name.find_first_of("/\\\x7F") != name.npos) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    // In UTF-8, U+0080 to U+009F are C2 followed by 80 to 9F.
    const bool is_second = i > 0 && static_cast<unsigned char>(name[i - 1]) == 0xC2 && byte < 0xA0;
    if (byte < ' ' || is_second) return false;
  }
  return true;
}

/// Files that may be in the place of one that is missing, by the ends of their names.
struct OtherFormat {
  std::string_view missing;
  const char *ending, *what, *advice;
};

constexpr char kPickle[] = "a pickle, which can run code", kWords[] = "a part of a tokenizer",
               kSentencePiece[] = "a SentencePiece model", kAdapter[] = "that of an adapter",
               kConvert[] = ", which native/convert.py of headlens makes of such a folder",
               kMerge[] = " of a whole model, which merge_and_unload of PEFT makes",
               kOrigin[] = ": look for the folder that this was made from";

// Of those that fit, the first is named.
constexpr OtherFormat kOtherFormats[] = {
    {kConfigFile, "adapter_config.json", kAdapter, kMerge},
    {kConfigFile, ".gguf", "a file for llama.cpp", kOrigin},
    {kWeightsFile, "adapter_config.json", kAdapter, kMerge},
    {kWeightsFile, ".bin", kPickle, kConvert},
    {kWeightsFile, ".pth", kPickle, kConvert},
    {kWeightsFile, ".pt", kPickle, kConvert},
    {kWeightsFile, ".ckpt", kPickle, kConvert},
    {kWeightsFile, ".h5", "a file of Keras", kOrigin},
    {kWeightsFile, ".msgpack", "a file of Flax", kOrigin},
    {kWeightsFile, ".onnx", "a graph for other engines", kOrigin},
    {kWeightsFile, ".gguf", "a file for llama.cpp", kOrigin},
    {kTokenizerFile, ".model", kSentencePiece, kConvert},
    {kTokenizerFile, ".spm", kSentencePiece, kConvert},
    {kTokenizerFile, "vocab.txt", kWords, kConvert},
    {kTokenizerFile, "merges.txt", kWords, kConvert},
    {kTokenizerFile, "vocab.json", kWords, kConvert},
    {kTokenizerFile, ".tiktoken", kWords, kConvert},
    {kTokenizerFile, "tekken.json", "a part of a tokenizer", kConvert},
};

}  // namespace

void RefuseOtherFormats(std::string_view missing, std::span<const std::string> names) {
  for (const OtherFormat& format : kOtherFormats) {
    if (format.missing != missing) continue;
    for (const std::string& name : names) {
      if (!name.ends_with(format.ending)) continue;
      throw Wrong(ErrorCode::kUnsupported, Quoted(name), "is", format.what, {missing, format.advice});
    }
  }
}

std::vector<std::string> ReadShardNames(std::string_view index) {
  const nlohmann::json parsed = ParseObject(index, kIndexFile);
  const JsonField map = JsonField(parsed, std::string(kIndexFile) + ": ", ErrorCode::kFormat)["weight_map"];
  if (!map.value().is_object()) map.Fail("an object");
  std::set<std::string> names;
  for (const nlohmann::json& name : map.value()) {
    if (!name.is_string() || !IsShardName(name.get_ref<const std::string&>())) {
      throw NamesError(Shown(name), "names like model-00001.safetensors");
    }
    names.insert(name.get<std::string>());
  }
  if (names.size() > kMostShards) {
    throw NamesError({names.size(), " files"}, {"at most ", kMostShards});
  }
  return {names.begin(), names.end()};
}

}  // namespace headlens
