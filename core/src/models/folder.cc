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

}  // namespace

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
