// SPDX-License-Identifier: Apache-2.0
/// Regular expressions as tokenizer.json has them: Oniguruma's syntax, matched by PCRE2 within limits.
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

/// What character classes of words hold, without the brackets: Oniguruma's \w, and Unicode's (TR18), which Rust has.
inline constexpr std::string_view kWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
inline constexpr std::string_view kUnicodeWordClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";

/// The same expression for PCRE2, with UTF and UCP. Throws Error(kUnsupported), naming what PCRE2 cannot say.
std::string PcreFromOniguruma(std::string_view pattern);

/// A match, in bytes.
struct Match {
  std::size_t begin, end;
};

class Regex {
 public:
  /// `pattern` in PCRE2's syntax.
  explicit Regex(const std::string& pattern);

  /// All matches from left to right, none empty right after another. Throws Error(kValue) when `steps` run out.
  std::vector<Match> FindAll(std::string_view text, Steps& steps) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::string pattern_;
};

/// Whether the character, as UTF-8, is of kUnicodeWordClass.
bool IsWordCharacter(std::string_view character);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_REGEX_H_
