// SPDX-License-Identifier: Apache-2.0
/// Regular expressions of tokenizer.json: written in Oniguruma's syntax, and matched by PCRE2 within limits.
#ifndef HEADLENS_NATIVE_TOKENIZER_REGEX_H_
#define HEADLENS_NATIVE_TOKENIZER_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/steps.h"

struct pcre2_real_code_8;

namespace headlens::tokenizer {

/// The contents of the class of word characters, without brackets: Oniguruma's \w and Unicode's (TR18), which Rust
/// uses.
inline constexpr std::string_view kWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
inline constexpr std::string_view kUnicodeWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";

/// Translates an expression to PCRE2 with UTF and UCP. Throws Error(kUnsupported), naming what PCRE2 cannot express.
std::string PcreFromOniguruma(std::string_view pattern);

/// A match, as positions in bytes.
struct Match {
  std::size_t begin, end;
};

class Regex {
 public:
  /// `pattern` is in PCRE2's syntax.
  explicit Regex(const std::string& pattern);

  /// All matches from left to right, without empty ones right after another match. Throws Error(kValue) when the search
  /// takes more than `steps`.
  std::vector<Match> FindAll(std::string_view text, Steps& steps) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::string pattern_;
};

/// Returns true for the name of a script, such as Han, that PCRE2 knows.
bool IsScript(std::string_view name);

/// Returns true when the character, given as UTF-8, belongs to kUnicodeWordClass.
bool IsWordCharacter(std::string_view character);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_REGEX_H_
