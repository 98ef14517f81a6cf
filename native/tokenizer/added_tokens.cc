// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <utility>

#include "headlens/error.h"
#include "tokenizer/regex.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxToken = 512;  // in bytes; the time is the text's size times that of the longest token

bool StartsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(text.substr(0, CharacterAt(text, 0).size));
}

bool EndsWithWord(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
  return IsWordCharacter(text.substr(at));
}

}  // namespace

AddedTokens::AddedTokens(const JsonField& field, const Vocabulary& vocabulary, const Normalizer& normalizer) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < field.ListSize(); ++i) bytes += field.Element(i)["content"].Text().size();
  Steps steps(bytes);  // all of them are one text
  for (std::size_t i = 0; i < field.ListSize(); ++i) Add(field.Element(i), vocabulary, normalizer, steps);
}

void AddedTokens::Add(const JsonField& field, const Vocabulary& vocabulary, const Normalizer& normalizer,
                      Steps& steps) {
  const std::string& content = field["content"].Text();
  const Id id = ToId(field["id"]);
  if (content.empty()) return;
  if (content.size() > kMaxToken) field["content"].Refuse("tokens of up to " + std::to_string(kMaxToken) + " bytes");
  if (const auto known = vocabulary.Find(content); known && *known != id) {
    field["id"].Fail(std::to_string(*known) + ", which model.vocab gives to " + Quoted(content));
  }
  const auto [place, is_new] = tokens_.try_emplace(id);
  if (!is_new && place->second.content != content) field["id"].Fail("an id that no other added token has");
  place->second = {content, id, field["single_word"].Flag(false), field["lstrip"].Flag(false),
                   field["rstrip"].Flag(false)};
  if (!field["normalized"].Flag(!field["special"].Flag(false))) return Insert(written_, content, &place->second);
  std::string normalized = content;
  normalizer(normalized, steps);
  Insert(normalized_, normalized, &place->second);
}

void AddedTokens::Insert(Trie& trie, std::string_view content, const Token* token) {
  if (content.empty()) return;
  std::size_t state = 0;
  for (const char byte : content) {
    const auto [place, is_new] = trie[state].next.try_emplace(byte, trie.size());
    state = place->second;
    if (is_new) trie.emplace_back();
  }
  trie[state].token = token;
}

std::vector<Section> AddedTokens::Split(const Section& section, bool normalized) const {
  const Trie& trie = normalized ? normalized_ : written_;
  const std::string_view text = section.text;
  std::vector<Section> sections;
  std::size_t done = 0;
  const auto take = [&](std::size_t begin, std::size_t end, std::optional<Id> id) {
    if (begin >= end) return;
    std::string part(id ? "" : text.substr(begin, end - begin));
    sections.push_back({std::move(part), id, section.is_first && begin == 0});
    done = end;
  };
  std::size_t blank = 0;  // the end of the last whitespace that was looked at, which is not looked at again
  for (std::size_t at = 0; at < text.size();) {
    const Token* token = nullptr;  // the longest token that is found here
    std::size_t end = at;
    for (std::size_t i = at, state = 0; i < text.size(); ++i) {
      const auto next = trie[state].next.find(text[i]);
      if (next == trie[state].next.end()) break;
      state = next->second;
      if (trie[state].token != nullptr) {
        token = trie[state].token;
        end = i + 1;
      }
    }
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = std::exchange(at, end);
    if (token->single_word && (EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end)))) continue;
    // A token of whitespace may begin in what the token before took. It is a token again, as in Hugging Face's library.
    if (token->strip_left) begin = done < begin ? begin - TrailingWhitespace(text.substr(done, begin - done)) : done;
    if (token->strip_right) end = blank = blank > end ? blank : end + LeadingWhitespace(text.substr(end));
    take(done, begin, std::nullopt);
    take(begin, end, token->id);
  }
  take(done, text.size(), std::nullopt);
  return sections;
}

const std::string* AddedTokens::TokenOf(Id id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second.content;
}

}  // namespace headlens::tokenizer
