// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <map>
#include <utility>
#include <vector>

#include "headlens/error.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/charsmap.h"
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

bool StartsWith(std::string_view text, bool (*has)(char32_t)) {
  return !text.empty() && has(CharacterAt(text, 0).code);
}

/// Removes characters from `text`. Returns false when the first one is among them.
bool Remove(std::string& text, bool (*drop)(char32_t)) {
  const bool keeps_first = !StartsWith(text, drop);
  text = Changed(text, [drop](std::string& result, char32_t code) {
    if (!drop(code)) AppendUtf8(result, code);
  });
  return keeps_first;
}

template <NormalForm kForm>
Normalizer MakeForm(const JsonField&) {
  return [](std::string& text, Steps&) {
    text = Normalized(text, kForm);
    return true;
  };
}

Normalizer MakeLowercase(const JsonField&) {
  return [](std::string& text, Steps&) {
    text = Lowercase(text);
    return true;
  };
}

Normalizer MakeStripAccents(const JsonField&) {
  return [](std::string& text, Steps&) { return Remove(text, IsMark); };
}

Normalizer MakeByteLevel(const JsonField&) {
  return [](std::string& text, Steps&) {
    text = ByteLetters(text);
    return true;
  };
}

Normalizer MakeStrip(const JsonField& field) {
  return [left = field["strip_left"].Flag(true), right = field["strip_right"].Flag(true)](std::string& text, Steps&) {
    const std::size_t leading = left ? LeadingWhitespace(text) : 0;
    text.erase(0, leading);
    if (right) text.erase(text.size() - TrailingWhitespace(text));
    return leading == 0;
  };
}

Normalizer MakePrepend(const JsonField& field) {
  return [prefix = field["prepend"].Text()](std::string& text, Steps&) {
    if (!text.empty()) text.insert(0, prefix);
    return true;
  };
}

Normalizer MakeReplace(const JsonField& field) {
  return [pattern = Pattern(field["pattern"]), content = field["content"].Text()](std::string& text, Steps& steps) {
    std::string result;
    std::size_t done = 0;
    bool keeps_first = true;
    for (const Match& match : pattern.FindAll(text, steps)) {
      // The text in the place of several characters stands where the last of them was.
      if (match.begin == 0 && match.end > 0) keeps_first = !content.empty() && match.end == CharacterAt(text, 0).size;
      result.append(text, done, match.begin - done).append(content);
      if (result.size() > kMaxText) break;  // the caller reports the error
      done = match.end;
    }
    text = std::move(result.append(text, done));
    return keeps_first;
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

/// Returns true for what BERT's clean_text removes.
bool IsUnclean(char32_t code) {
  const bool is_blank = code == '\t' || code == '\n' || code == '\r';
  return code == 0 || code == 0xFFFD || (!is_blank && IsOther(code));
}

std::string WithPlainSpaces(std::string_view text, bool (*is_space)(char32_t)) {
  return Changed(text,
                 [is_space](std::string& result, char32_t code) { AppendUtf8(result, is_space(code) ? U' ' : code); });
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
    bool keeps_first = true;
    if (clean) {
      keeps_first = Remove(text, IsUnclean);
      text = WithPlainSpaces(text, IsWhitespace);
    }
    if (apart) text = IdeographsApart(text);
    if (strip_accents) {
      text = Normalized(text, NormalForm::kD);
      keeps_first = Remove(text, IsNonspacing) && keeps_first;
    }
    if (lowercase) text = Lowercase(text);
    return keeps_first;
  };
}

/// The control characters that SentencePiece removes.
bool IsNmtControl(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

/// Returns true for the characters that SentencePiece takes for a space.
bool IsNmtSpace(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

Normalizer MakeNmt(const JsonField&) {
  return [](std::string& text, Steps&) {
    const bool keeps_first = Remove(text, IsNmtControl);
    text = WithPlainSpaces(text, IsNmtSpace);
    return keeps_first;
  };
}

/// Replaces graphemes that are short, and otherwise characters, as Hugging Face's library does. SentencePiece itself
/// would take the longest text of the table that comes next.
Normalizer MakePrecompiled(const JsonField& field) {
  constexpr std::size_t kShort = 6;  // in bytes
  return [map = Charsmap(field["precompiled_charsmap"])](std::string& text, Steps&) {
    std::string result;
    ForEachGrapheme(text, [&](std::string_view grapheme) {
      if (result.size() > kMaxText) return;  // the caller reports the error
      if (const auto whole = grapheme.size() < kShort ? map.Find(grapheme) : std::nullopt) {
        result += *whole;
        return;
      }
      ForEachCharacter(grapheme, [&](const Character& character, std::size_t at) {
        const std::string_view one = grapheme.substr(at, character.size);
        result += map.Find(one).value_or(one);
      });
    });
    text = std::move(result);
    return true;
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
    {"Nmt", MakeNmt},
    {"Precompiled", MakePrecompiled},
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
    bool keeps_first = true;
    for (const Normalizer& step : all) {
      keeps_first = step(text, steps) && keeps_first;
      steps.TakePass(text.size(), 1);
      if (text.size() > kMaxText) {
        throw Wrong(ErrorCode::kMemory, "the text", "grows to", {text.size(), " bytes"},
                    {"at most ", kMaxText, " when normalized"});
      }
    }
    return keeps_first;
  };
}

}  // namespace headlens::tokenizer
