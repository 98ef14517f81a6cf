// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <map>
#include <utility>
#include <vector>

#include "headlens/error.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/pattern.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

/// `text` with each character replaced by what `change(text, code)` appends.
template <class Change>
std::string Changed(std::string_view text, const Change& change) {
  std::string result;
  result.reserve(text.size());
  ForEachCharacter(text, [&](const Character& character, std::size_t) { change(result, character.code); });
  return result;
}

std::string Without(std::string_view text, bool (*drop)(char32_t)) {
  return Changed(text, [drop](std::string& result, char32_t code) {
    if (!drop(code)) AppendUtf8(result, code);
  });
}

template <NormalForm kForm>
Normalizer MakeForm(const JsonField&) {
  return [](std::string& text, Steps&) { text = Normalized(text, kForm); };
}

Normalizer MakeLowercase(const JsonField&) {
  return [](std::string& text, Steps&) { text = Lowercase(text); };
}

Normalizer MakeStripAccents(const JsonField&) {
  return [](std::string& text, Steps&) { text = Without(text, IsMark); };
}

Normalizer MakeByteLevel(const JsonField&) {
  return [](std::string& text, Steps&) { text = ByteLetters(text); };
}

Normalizer MakeStrip(const JsonField& field) {
  return [left = field["strip_left"].Flag(true), right = field["strip_right"].Flag(true)](std::string& text, Steps&) {
    if (left) text.erase(0, LeadingWhitespace(text));
    if (right) text.erase(text.size() - TrailingWhitespace(text));
  };
}

Normalizer MakePrepend(const JsonField& field) {
  return [prefix = field["prepend"].Text()](std::string& text, Steps&) {
    if (!text.empty()) text.insert(0, prefix);
  };
}

Normalizer MakeReplace(const JsonField& field) {
  return [pattern = Pattern(field["pattern"]), content = field["content"].Text()](std::string& text, Steps& steps) {
    std::string result;
    std::size_t done = 0;
    for (const Match& match : pattern.FindAll(text, steps)) {
      result.append(text, done, match.begin - done).append(content);
      if (result.size() > kMaxText) break;  // the caller reports the error
      done = match.end;
    }
    text = std::move(result.append(text, done));
  };
}

/// Returns true for CJK ideographs, each of which BERT treats as a word. Kana and Hangul do not count.
bool IsIdeograph(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F},
  };
  for (const auto& [first, last] : kRanges) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

std::string Cleaned(std::string_view text) {
  return Changed(text, [](std::string& result, char32_t code) {
    const bool is_blank = code == '\t' || code == '\n' || code == '\r';
    if (code == 0 || code == 0xFFFD || (!is_blank && IsOther(code))) return;
    AppendUtf8(result, IsWhitespace(code) ? U' ' : code);
  });
}

std::string IdeographsApart(std::string_view text) {
  return Changed(text, [](std::string& result, char32_t code) {
    if (IsIdeograph(code)) result += ' ';
    AppendUtf8(result, code);
    if (IsIdeograph(code)) result += ' ';
  });
}

Normalizer MakeBert(const JsonField& field) {
  const bool clean = field["clean_text"].Flag(true);
  const bool apart = field["handle_chinese_chars"].Flag(true);
  const bool lowercase = field["lowercase"].Flag(true);
  const bool strip_accents = field["strip_accents"].Flag(lowercase);
  return [=](std::string& text, Steps&) {
    if (clean) text = Cleaned(text);
    if (apart) text = IdeographsApart(text);
    if (strip_accents) text = Without(Normalized(text, NormalForm::kD), IsNonspacing);
    if (lowercase) text = Lowercase(text);
  };
}

const std::map<std::string_view, Normalizer (*)(const JsonField&)> kKinds = {
    {"BertNormalizer", MakeBert},
    {"ByteLevel", MakeByteLevel},
    {"Lowercase", MakeLowercase},
    {"NFC", MakeForm<NormalForm::kC>},
    {"NFD", MakeForm<NormalForm::kD>},
    {"NFKC", MakeForm<NormalForm::kKC>},
    {"NFKD", MakeForm<NormalForm::kKD>},
    {"Prepend", MakePrepend},
    {"Replace", MakeReplace},
    {"Strip", MakeStrip},
    {"StripAccents", MakeStripAccents},
};

}  // namespace

Normalizer MakeNormalizer(const JsonField& field) {
  std::vector<Normalizer> all;
  ForEachStep(field, "normalizers", [&all](const JsonField& step) { all.push_back(Make(kKinds, step)); });
  return [all = std::move(all)](std::string& text, Steps& steps) {
    for (const Normalizer& step : all) {
      step(text, steps);
      steps.TakePass(text.size(), 1);
      if (text.size() > kMaxText) {
        throw Wrong(ErrorCode::kMemory, "the text", "grows to", {text.size(), " bytes"},
                    {"at most ", kMaxText, " when normalized"});
      }
    }
  };
}

}  // namespace headlens::tokenizer
