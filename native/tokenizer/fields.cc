// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/fields.h"

#include <limits>

#include "headlens/error.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxShown = 60;
constexpr std::size_t kMaxSteps = 256;
constexpr std::size_t kMaxDepth = 32;

const nlohmann::json kNull;

/// A short description of a value. Of a list or an object it is only the kind, since these may be as large as the file.
std::string Shown(const nlohmann::json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return value.is_null() ? "missing" : value.dump();
}

void Walk(const Field& step, const char* list, std::size_t depth, std::size_t& count,
          const std::function<void(const Field&)>& use) {
  if (TypeOf(step) != "Sequence") {
    if (++count > kMaxSteps) step.Refuse("up to " + std::to_string(kMaxSteps) + " steps");
    return use(step);
  }
  if (depth == kMaxDepth) step.Refuse("Sequences up to " + std::to_string(kMaxDepth) + " deep");
  const Field steps = step.At(list);
  if (steps.is_null()) steps.Fail("a list");
  for (std::size_t i = 0; i < steps.ListSize(); ++i) Walk(steps.Element(i), list, depth + 1, count, use);
}

}  // namespace

std::string Quoted(std::string_view text) {
  if (text.size() <= kMaxShown) return '"' + std::string(text) + '"';
  std::size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return '"' + std::string(text.substr(0, end)) + "…\"";
}

Field Field::At(const char* key) const {
  if (!value_.is_object()) Fail("an object");
  const auto found = value_.find(key);
  return {found == value_.end() ? kNull : *found, name_.empty() ? key : name_ + "." + key};
}

Field Field::Element(std::size_t index) const {
  return {index < ListSize() ? value_[index] : kNull, name_ + "[" + std::to_string(index) + "]"};
}

std::size_t Field::ListSize() const {
  if (is_null()) return 0;
  if (!value_.is_array()) Fail("a list");
  return value_.size();
}

const std::string& Field::String() const {
  if (!value_.is_string()) Fail("a string");
  return value_.get_ref<const std::string&>();
}

bool Field::BoolOr(bool otherwise) const {
  if (is_null()) return otherwise;
  if (!value_.is_boolean()) Fail("true or false");
  return value_.get<bool>();
}

std::int64_t Field::Whole(std::int64_t least, std::int64_t most) const {
  const bool fits = value_.is_number_integer() &&
                    (!value_.is_number_unsigned() || value_.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) &&
                    value_.get<std::int64_t>() >= least && value_.get<std::int64_t>() <= most;
  if (!fits) Fail("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value_.get<std::int64_t>();
}

Id Field::ToId() const { return static_cast<Id>(Whole(0, std::numeric_limits<Id>::max())); }

void Field::Fail(const std::string& expected) const {
  throw Error(ErrorCode::kFormat,
              (name_.empty() ? "the file" : name_) + " is " + Shown(value_) + ", expected " + expected);
}

void Field::Refuse(const std::string& known) const {
  throw Error(ErrorCode::kUnsupported, name_ + " is " + Shown(value_) + "; this program knows " + known);
}

const std::string& TypeOf(const Field& step) { return step.At("type").String(); }

void ForEachStep(const Field& root, const char* list, const std::function<void(const Field&)>& use) {
  std::size_t count = 0;
  if (!root.is_null()) Walk(root, list, 0, count, use);
}

}  // namespace headlens::tokenizer
