// SPDX-License-Identifier: Apache-2.0
#include "files/json.h"

#include <cmath>
#include <limits>

namespace headlens {
namespace {

using nlohmann::json;

/// Builds the parsed value, and stops at an object that is too deep or names a member twice. (json::parse with a
/// callback could do the same, but brings in a second parser.)
class Builder {
 public:
  Builder(const std::string& what, std::size_t deepest) : what_(what), deepest_(deepest) {}

  json& root() { return root_; }

  // The events of the parser. Returning false stops it.
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
      throw Wrong(ErrorCode::kFormat, what_, "names", {Quoted(name), " twice"}, "once");
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
      throw Wrong(ErrorCode::kFormat, what_, "is", "nested deeper", {"at most ", deepest_, " levels"});
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

  /// The place for the next value.
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

const json kNull;

/// An option's value that JSON cannot express, such as a function, comes as an object with this one member, which shows
/// it. No option takes an object.
constexpr char kNotJson[] = "not JSON";

}  // namespace

json ParseObject(std::string_view text, const std::string& what, std::size_t deepest) {
  Builder builder(what, deepest);
  // The parser would take a zero byte for the end of the text.
  const bool whole = text.find('\0') == std::string_view::npos;
  if (!whole || !json::sax_parse(text, &builder) || !builder.root().is_object()) {
    throw Wrong(ErrorCode::kFormat, what, "is", Quoted(text), "a JSON object");
  }
  return std::move(builder.root());
}

std::string Shown(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  constexpr std::size_t kMost = 80;
  const std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

JsonField JsonField::operator[](std::string_view key) const {
  if (!value_->is_object()) Fail("an object");
  const auto found = value_->find(key);
  const bool is_root = name_.empty() || name_.marked().ends_with(": ");
  const Phrase member = name_.empty() && wrong_ == ErrorCode::kOption ? Fragment::Name(key) : Fragment(key);
  return {found == value_->end() ? kNull : *found, {name_, is_root ? "" : ".", member}, wrong_};
}

std::size_t JsonField::ListSize() const {
  if (is_null()) return 0;
  if (!value_->is_array()) Fail("a list");
  return value_->size();
}

JsonField JsonField::Named(std::string_view key) const {
  const JsonField member = (*this)[key];
  return {*member.value_, {name_, "[", Quoted(key), "]"}, wrong_};
}

JsonField JsonField::Element(std::size_t index) const {
  return {index < ListSize() ? (*value_)[index] : kNull, {name_, "[", index, "]"}, wrong_};
}

bool JsonField::Flag() const {
  if (!value_->is_boolean()) Fail("true or false");
  return value_->get<bool>();
}

const std::string& JsonField::Text() const {
  if (!value_->is_string()) Fail("a string");
  return value_->get_ref<const std::string&>();
}

std::int64_t JsonField::Whole(std::int64_t least, std::int64_t most) const {
  const bool is_whole = value_->is_number_integer();
  const bool is_large = value_->is_number_unsigned() && value_->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (is_whole && !is_large && value_->get<std::int64_t>() >= least) return value_->get<std::int64_t>();
  if (most < kMostWhole) Fail({"a whole number from ", least, " to ", most});
  if (is_large) Fail({"a whole number, at most ", most});
  Fail({"a whole number, at least ", least});
}

double JsonField::Number() const {
  if (!value_->is_number() || !std::isfinite(value_->get<double>())) Fail("a finite number");
  return value_->get<double>();
}

float JsonField::Single() const {
  const double number = Number();
  constexpr double kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  if (std::abs(number) > kLargest || (number != 0.0 && std::abs(number) < kSmallest)) {
    Fail("a number that a 32-bit float can hold");
  }
  return static_cast<float>(number);
}

double JsonField::Positive() const {
  if (!value_->is_number() || !(value_->get<double>() > 0.0) || !std::isfinite(value_->get<double>())) {
    Fail("a positive number");
  }
  return value_->get<double>();
}

void JsonField::Require(const json& supported) const {
  if (!is_null() && *value_ != supported) Refuse(Shown(supported));
}

void JsonField::Fail(const Fragment& expected) const {
  if (is_null()) throw MissingError(wrong_ == ErrorCode::kOption ? wrong_ : ErrorCode::kFormat, name_, expected);
  const bool is_other = wrong_ == ErrorCode::kOption && value_->is_object() && value_->size() == 1;
  const auto other = is_other ? value_->find(kNotJson) : value_->end();
  const bool is_shown = is_other && other != value_->end() && other->is_string();
  throw Wrong(wrong_, name_, "is", is_shown ? other->get<std::string>() : Shown(*value_), expected);
}

void JsonField::Refuse(const Fragment& supported) const {
  const Phrase shown = is_null() ? Phrase("missing") : Phrase(Shown(*value_));
  throw Error(ErrorCode::kUnsupported, name_, shown, supported, {name_, " is ", shown, ", supported is ", supported});
}

}  // namespace headlens
