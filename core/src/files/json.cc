// SPDX-License-Identifier: Apache-2.0
#include "files/json.h"

#include <utility>
#include <vector>

#include "base/words.h"
#include "headlens/error.h"

namespace headlens {
namespace {

using nlohmann::json;

/// Builds what is parsed, and stops at what is too deep or named twice. (json::parse could be told to by a callback,
/// but then carries two parsers.)
class Builder {
 public:
  Builder(const std::string& what, std::size_t deepest) : what_(what), deepest_(deepest) {}

  json& root() { return root_; }

  // The parser's events; false ends it.
  bool null() { return Add(nullptr); }
  bool boolean(bool x) { return Add(x); }
  bool number_integer(json::number_integer_t x) { return Add(x); }
  bool number_unsigned(json::number_unsigned_t x) { return Add(x); }
  bool number_float(json::number_float_t x, const std::string& /*text*/) { return Add(x); }
  bool string(std::string& x) { return Add(std::move(x)); }
  bool binary(json::binary_t& /*not in text*/) { return false; }
  bool start_object(std::size_t /*unknown*/) { return Open(json::object()); }
  bool end_object() { return Close(); }
  bool start_array(std::size_t /*unknown*/) { return Open(json::array()); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    json& object = *open_.back();
    if (open_.size() == 1 && object.contains(name)) {
      throw Error(ErrorCode::kFormat, what_ + " names " + Quoted(name) + " twice");
    }
    member_ = &object[name];
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/, const json::exception& /*error*/) { return false; }

 private:
  bool Add(json value) {
    Place() = std::move(value);
    return true;
  }

  bool Open(json value) {
    if (open_.size() == deepest_) {
      throw Error(ErrorCode::kFormat, what_ + " is nested more than " + std::to_string(deepest_) + " deep");
    }
    json& place = Place();
    place = std::move(value);
    open_.push_back(&place);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  /// Where the next value goes.
  json& Place() {
    if (open_.empty()) return root_;
    return open_.back()->is_array() ? open_.back()->emplace_back() : *member_;
  }

  const std::string& what_;
  std::size_t deepest_;
  json root_;
  std::vector<json*> open_;
  json* member_ = nullptr;
};

}  // namespace

json ParseObject(std::string_view text, const std::string& what, std::size_t deepest) {
  Builder builder(what, deepest);
  // To the parser, a zero byte is the end.
  const bool whole = text.find('\0') == std::string_view::npos;
  if (!whole || !json::sax_parse(text, &builder) || !builder.root().is_object()) {
    throw Error(ErrorCode::kFormat, what + " is not a JSON object");
  }
  return std::move(builder.root());
}

std::string Shown(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  constexpr std::size_t kMost = 80;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

}  // namespace headlens
