// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <set>

#include "headlens/error.h"
#include "words.h"

namespace headlens {

using nlohmann::json;

json ParseObject(std::string_view text, const std::string& what) {
  constexpr int kDeepest = 64;
  std::set<std::string> names;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepest) throw Error(ErrorCode::kFormat, what + " is nested more than 64 deep");
    if (depth == 1 && event == json::parse_event_t::key && !names.insert(parsed.get<std::string>()).second) {
      throw Error(ErrorCode::kFormat, what + " names " + Quoted(parsed.get_ref<const std::string&>()) + " twice");
    }
    return true;
  };
  // To the parser, a zero byte is the end.
  const bool whole = text.find('\0') == std::string_view::npos;
  json object = json::parse(whole ? text : "", check, /*allow_exceptions=*/false);
  if (!object.is_object()) throw Error(ErrorCode::kFormat, what + " is not a JSON object");
  return object;
}

std::string Shown(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  constexpr std::size_t kMost = 80;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

}  // namespace headlens
