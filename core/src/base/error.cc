// SPDX-License-Identifier: Apache-2.0
#include "headlens/error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error_codes.h"

namespace headlens {
namespace {

std::string Shown(double number) {
  if (std::isnan(number)) return "NaN";
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);  // streams would bring 100 KB of locales into the wasm module
  return text;
}

std::string Shown(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text.append(i ? ", " : "").append(std::to_string(shape[i]));
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::span<const Choice> ErrorCodes() {
  static constexpr Choice kCodes[] = {
      {"shape", ErrorCode::kShape, "Sizes that do not fit together."},
      {"option", ErrorCode::kOption, "An unknown option, or one that contradicts another."},
      {"value", ErrorCode::kValue, "A number out of its range, a NaN where none may be."},
      {"dtype", ErrorCode::kDtype, "An element type that does not fit."},
      {"format", ErrorCode::kFormat, "A file that breaks its format."},
      {"memory", ErrorCode::kMemory, "More memory than there is, or than can be addressed."},
      {"unsupported", ErrorCode::kUnsupported, "Right, but not offered here."},
  };
  return kCodes;
}

std::string_view ToString(ErrorCode code) {
  for (const Choice& choice : ErrorCodes())
    if (choice.value == static_cast<int>(code)) return choice.name;
  return "internal";
}

void Fragment::AppendTo(std::string& marked) const {
  const auto append = [&](char from, char to) {
    const auto old_size = static_cast<std::ptrdiff_t>(marked.size());
    marked.append(words_);
    std::replace(marked.begin() + old_size, marked.end(), from, to);
  };
  switch (kind_) {
    case Kind::kOfLibrary:
      append('`', Phrase::kNameMark);
      break;
    case Kind::kAsIs:
      append(Phrase::kNameMark, '?');
      break;
    case Kind::kName:
      marked += Phrase::kNameMark;
      Fragment(words_).AppendTo(marked);
      marked += Phrase::kNameMark;
      break;
    case Kind::kInteger:
      marked += std::to_string(integer_);
      break;
    case Kind::kNumber:
      marked += Shown(number_);
      break;
    case Kind::kShape:
      marked += Shown(*shape_);
      break;
    case Kind::kPhrase:
      marked += phrase_->marked();
      break;
    case Kind::kParts:
      for (std::size_t i = 0; i < parts_.size; ++i) parts_.data[i].AppendTo(marked);
      break;
  }
}

std::string Phrase::plain() const {
  std::string words = marked_;
  words.erase(std::remove(words.begin(), words.end(), kNameMark), words.end());
  return words;
}

Phrase Phrase::Renamed(std::span<const std::pair<std::string_view, std::string_view>> names) const {
  Phrase renamed;
  std::string_view rest = marked_;
  for (bool is_name = false; !rest.empty(); is_name = !is_name) {
    const std::size_t end = std::min(rest.find(kNameMark), rest.size());
    const std::string_view part = rest.substr(0, end);
    const auto other = std::find_if(names.begin(), names.end(), [&](const auto& pair) { return pair.first == part; });
    const std::string_view word = is_name && other != names.end() ? other->second : part;
    (is_name ? Fragment::Name(word) : Fragment(word)).AppendTo(renamed.marked_);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return renamed;
}

Error::Error(ErrorCode code, const Fragment& message) : Error(code, "", "", "", message) {}

Error::Error(ErrorCode code, const Fragment& argument, const Fragment& got, const Fragment& expected,
             const Fragment& message)
    : std::runtime_error(Phrase(message).plain()),
      code_(code),
      fault_(std::make_shared<const Fault>(Fault{Phrase(argument), Phrase(got), Phrase(expected), Phrase(message)})) {}

Error Error::In(const Fragment& place) const {
  return {code_, argument(), got(), expected(), {place, ": ", message()}};
}

Error Error::Renamed(std::span<const std::pair<std::string_view, std::string_view>> names) const {
  const auto renamed = [&](const Phrase& text) { return text.Renamed(names); };
  return {code_, renamed(argument()), renamed(got()), renamed(expected()), renamed(message())};
}

Error Wrong(ErrorCode code, const Fragment& argument, const Fragment& verb, const Fragment& got,
            const Fragment& expected) {
  return {code, argument, got, expected, {argument, " ", verb, " ", got, ", expected ", expected}};
}

Error OptionError(const Fragment& argument, const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kOption, argument, "is", got, expected);
}

Error ValueError(const Fragment& argument, const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kValue, argument, "is", got, expected);
}

Error ShapeError(const Fragment& argument, const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kShape, argument, "has shape", got, expected);
}

Error DtypeError(const Fragment& argument, const Fragment& got, const Fragment& expected) {
  return Wrong(ErrorCode::kDtype, argument, "has the type", got, expected);
}

Error MissingError(ErrorCode code, const Fragment& argument, const Fragment& expected) {
  const Phrase given = expected;
  return {code, argument, "", given, {argument, " is missing", given.empty() ? "" : ", expected ", given}};
}

Error NeedsError(ErrorCode code, const Fragment& argument, const Fragment& needed) {
  return {code, argument, "", needed, {argument, " needs ", needed}};
}

}  // namespace headlens
