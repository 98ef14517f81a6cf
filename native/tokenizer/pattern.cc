// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pattern.h"

namespace headlens::tokenizer {

Pattern::Pattern(const JsonField& field) {
  if (const JsonField text = field["String"]; !text.is_null()) {
    text_ = text.Text();
    if (text_.empty()) text.Fail("at least one character");
  } else if (const JsonField regex = field["Regex"]; !regex.is_null()) {
    regex_ = std::make_shared<Regex>(PcreFromOniguruma(regex.Text()));
  } else {
    field.Fail("{\"String\": …} or {\"Regex\": …}");
  }
}

std::vector<Match> Pattern::FindAll(std::string_view text, Steps& steps) const {
  if (regex_) return regex_->FindAll(text, steps);
  std::vector<Match> matches;
  for (std::size_t at = text.find(text_); at != text.npos; at = text.find(text_, at + text_.size())) {
    matches.push_back({at, at + text_.size()});
  }
  return matches;
}

}  // namespace headlens::tokenizer
