// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_PATTERN_H_
#define HEADLENS_NATIVE_TOKENIZER_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/fields.h"
#include "tokenizer/regex.h"

namespace headlens::tokenizer {

/// The places of `part`, which is not empty, in `text`, from left to right and without overlaps.
std::vector<Match> PlacesOf(std::string_view part, std::string_view text);

/// The pattern {"String": …} or {"Regex": …} of tokenizer.json: a text or a regular expression to search for.
class Pattern {
 public:
  explicit Pattern(const JsonField& field);
  std::vector<Match> FindAll(std::string_view text, Steps& steps) const;

 private:
  std::string text_;
  std::shared_ptr<const Regex> regex_;  // null: search for the text
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_PATTERN_H_
