// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pattern.h"

namespace headlens::tokenizer {

std::vector<Match> PlacesOf(std::string_view part, std::string_view text) {
  std::vector<Match> matches;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
    matches.push_back({at, at + part.size()});
  }
  return matches;
}

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
  std::vector<Match> matches = PlacesOf(text_, text);
  steps.TakePass(0, matches.size());  // to replace or to cut at each takes a step; callers count the text's bytes
  return matches;
}

}  // namespace headlens::tokenizer
