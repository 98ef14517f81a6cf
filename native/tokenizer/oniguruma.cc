// SPDX-License-Identifier: Apache-2.0
/// Translates regular expressions from Oniguruma's Ruby syntax (doc/RE in its sources) to PCRE2's (pcre2pattern) where
/// the two differ. What PCRE2 cannot express is refused, since a pattern with another meaning would split texts wrongly
/// without an error.
#include <cctype>
#include <map>
#include <vector>

#include "headlens/error.h"
#include "tokenizer/fields.h"
#include "tokenizer/regex.h"

namespace headlens::tokenizer {
namespace {

/// Outside of classes, \w also contains the superscript digits and the fractions of Latin-1.
const std::string kWord = "[" + std::string(kWordClass) + R"(\xB2\xB3\xB9\xBC-\xBE])";
const std::string kBoundary = "(?:(?<!" + kWord + ")(?=" + kWord + ")|(?<=" + kWord + ")(?!" + kWord + "))";
const std::string kNoBoundary = "(?:(?<!" + kWord + ")(?!" + kWord + ")|(?<=" + kWord + ")(?=" + kWord + "))";

/// Escapes that mean something else in PCRE2, or that its newer versions read differently.
const std::map<char, std::string> kEscapes = {
    {'w', kWord},
    {'W', "[^" + kWord.substr(1)},
    {'d', R"(\p{Nd})"},
    {'D', R"(\P{Nd})"},
    {'h', "[0-9A-Fa-f]"},
    {'H', "[^0-9A-Fa-f]"},
    {'s', R"(\p{White_Space})"},
    {'S', R"(\P{White_Space})"},
    {'v', R"(\x0B)"},
    {'b', kBoundary},
    {'B', kNoBoundary},
};
const std::map<char, std::string> kClassEscapes = {
    {'w', std::string(kWordClass)}, {'d', R"(\p{Nd})"}, {'D', R"(\P{Nd})"}, {'s', R"(\p{White_Space})"},
    {'S', R"(\P{White_Space})"},    {'h', "0-9A-Fa-f"}, {'v', R"(\x0B)"},   {'b', R"(\x08)"},
};
const std::map<std::string_view, std::string_view> kPosixClasses = {
    {"[:alpha:]", R"(\p{Alphabetic})"}, {"[:alnum:]", R"(\p{Alphabetic}\p{Nd})"},
    {"[:digit:]", R"(\p{Nd})"},         {"[:space:]", R"(\p{White_Space})"},
    {"[:upper:]", R"(\p{Uppercase})"},  {"[:lower:]", R"(\p{Lowercase})"},
    {"[:word:]", kWordClass},           {"[:xdigit:]", "0-9A-Fa-f"},
};
constexpr std::string_view kSameEscapes = "AzZGRXaefnrtk0123456789", kSameClassEscapes = "aefnrt0";

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string Run() {
    while (at_ < pattern_.size()) Part();
    return std::move(out_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Wrong(ErrorCode::kUnsupported, {"the regular expression ", Quoted(pattern_)}, "has", {what, " at byte ", at_},
                "what this program knows");
  }
  bool Sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  void Copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }

  void Part() {
    switch (Peek()) {
      case '(':
        return Open();
      case ')':
        if (!groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        }
        return Copy(1);
      case '{':
        return Interval();
      case '|':
      case '*':
      case '+':
      case '?':
        return Copy(1);
      default:
        if ((static_cast<unsigned char>(Peek()) & 0xC0U) != 0x80) atom_ = out_.size();  // the beginning of a character
        if (Peek() == '\\') return Escape(kEscapes, kSameEscapes);
        if (Peek() == '[') return Class();
        return Copy(1);
    }
  }

  void Open() {
    groups_.push_back(out_.size());
    if (Sees("(*")) Refuse("\"(*\"");
    if (!Sees("(?")) return Copy(1);
    for (const std::string_view start : {"(?:", "(?=", "(?!", "(?>", "(?<"}) {
      if (Sees(start)) return Copy(start.size());
    }
    const std::size_t end = pattern_.find_first_not_of("imx-", at_ + 2);
    if (end == std::string_view::npos || (pattern_[end] != ':' && pattern_[end] != ')')) Refuse("a group");
    for (std::size_t i = at_; i < end; ++i)
      out_ += pattern_[i] == 'm' ? 's' : pattern_[i];  // in Ruby, m makes the dot match newlines
    at_ = end;
    if (pattern_[end] == ':') Copy(1);
  }

  /// {n,m}, and {,m}, which older versions of PCRE2 take for literal text. A + after it repeats it; in PCRE2 it would
  /// prevent backtracking.
  void Interval() {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view body = end == std::string_view::npos ? "" : pattern_.substr(at_ + 1, end - at_ - 1);
    const bool is_interval = !body.empty() && body != "," && body.find_first_not_of("0123456789,") == body.npos &&
                             body.find(',') == body.rfind(',');
    if (!is_interval) {
      atom_ = out_.size();
      out_ += "\\{";
      ++at_;
      return;
    }
    out_.append(body.front() == ',' ? "{0" : "{").append(body).append("}");
    at_ = end + 1;
    if (Peek() != '+') return;
    out_.insert(atom_, "(?:");
    out_ += ")";
    Copy(1);
  }

  /// \p{…}, \x{…}, \u0000 and the letters of the tables. Other letters are refused.
  void Escape(const std::map<char, std::string>& escapes, std::string_view same) {
    const char letter = Peek(1);
    if (letter == 'p' || letter == 'P' || (letter == 'x' && Peek(2) == '{')) {
      const std::size_t end = pattern_.find('}', at_);
      if (Peek(2) != '{' || end == std::string_view::npos) Refuse("an escape without braces");
      return letter == 'x' ? Copy(end + 1 - at_) : Property(end);
    }
    if (letter == 'x' || letter == 'u') {
      const std::size_t digits = letter == 'x' ? 2 : 4;
      out_.append("\\x{").append(pattern_.substr(at_ + 2, digits)).append("}");
      at_ = std::min(at_ + 2 + digits, pattern_.size());
      return;
    }
    if (const auto found = escapes.find(letter); found != escapes.end()) {
      out_ += found->second;
      at_ += 2;
      return;
    }
    if (at_ + 1 == pattern_.size() || (IsLetterOrDigit(letter) && same.find(letter) == same.npos)) {
      Refuse("the escape " + Quoted(pattern_.substr(at_, 2)));
    }
    Copy(2);
  }

  /// A script alone: PCRE2 would add the characters that several scripts share, such as marks of kana.
  void Property(std::size_t end) {
    std::size_t name = at_ + 3;
    if (pattern_[name] == '^') ++name;
    if (IsScript(pattern_.substr(name, end - name))) {
      Copy(name - at_);
      out_ += "sc:";
    }
    Copy(end + 1 - at_);
  }

  /// A class inside a class is joined to it. PCRE2 has neither nested classes nor intersections.
  void Class() {
    Copy(Peek(1) == '^' ? 2 : 1);
    if (Peek() == ']') Literal();
    for (std::size_t depth = 1; depth > 0;) {
      if (at_ == pattern_.size()) Refuse("a class without end");
      if (Sees("&&")) Refuse("an intersection of classes");
      switch (Peek()) {
        case '\\':
          Escape(kClassEscapes, kSameClassEscapes);
          break;
        case '[':
          depth += Nested();
          break;
        case ']':
          ++at_;
          if (--depth == 0) {
            out_ += ']';
          } else if (Peek() == '-' || (out_.ends_with('-') && !out_.ends_with("\\-"))) {
            Refuse("a range beside a class in a class");
          }
          break;
        case '^':
          Literal();
          break;
        default:
          Copy(1);
      }
    }
  }

  void Literal() {
    out_ += '\\';
    Copy(1);
  }

  /// 1 at the beginning of a class. 0 at the beginning of a POSIX class, which is read as a whole.
  std::size_t Nested() {
    if (Sees("[:")) {
      const std::size_t end = pattern_.find(":]", at_ + 2);
      const auto found = kPosixClasses.find(end == pattern_.npos ? "" : pattern_.substr(at_, end + 2 - at_));
      if (found == kPosixClasses.end()) Refuse("a POSIX class");
      out_ += found->second;
      at_ = end + 2;
      return 0;
    }
    if (Peek(1) == '^' || Peek(1) == '-' || out_.back() == '-') Refuse("such a class in a class");
    ++at_;
    if (Peek() == ']') Literal();
    return 1;
  }

  std::string_view pattern_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t atom_ = 0;             ///< the place in `out_` where the part begins that a quantifier would repeat
  std::vector<std::size_t> groups_;  ///< the places where the open groups begin
};

}  // namespace

std::string PcreFromOniguruma(std::string_view pattern) { return Translator(pattern).Run(); }

}  // namespace headlens::tokenizer
