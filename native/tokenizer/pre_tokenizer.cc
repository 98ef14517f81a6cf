// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <map>
#include <memory>

#include "headlens/error.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pattern.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

/// The treatment of the delimiters between words.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Behavior BehaviorOf(const JsonField& field, Behavior otherwise) {
  static const std::map<std::string_view, Behavior> kNames = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  if (field.is_null()) return otherwise;
  const auto found = kNames.find(field.Text());
  if (found == kNames.end()) field.Refuse("Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  return found->second;
}

/// A part of a text: a delimiter, or the text between two delimiters.
struct Part {
  std::size_t begin, end;
  bool is_delimiter;
};

/// Cuts a text of `size` bytes into parts. The delimiters are `matches`, or with `invert` everything else.
std::vector<Part> PartsOf(const std::vector<Match>& matches, std::size_t size, bool invert) {
  std::vector<Part> parts;
  std::size_t done = 0;
  for (const Match& match : matches) {
    if (done < match.begin) parts.push_back({done, match.begin, invert});
    parts.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done < size) parts.push_back({done, size, invert});
  return parts;
}

/// Returns true when `part` joins its neighbour, the part taken last.
bool Joins(Behavior behavior, const Part& part, bool neighbour_is_delimiter) {
  if (behavior == Behavior::kContiguous) return part.is_delimiter == neighbour_is_delimiter;
  const bool merges = behavior == Behavior::kMergedWithPrevious || behavior == Behavior::kMergedWithNext;
  return merges && part.is_delimiter && !neighbour_is_delimiter;
}

std::vector<Part> Merged(std::vector<Part> parts, Behavior behavior) {
  if (behavior == Behavior::kRemoved) {
    std::erase_if(parts, [](const Part& part) { return part.is_delimiter; });
    return parts;
  }
  const bool backwards = behavior == Behavior::kMergedWithNext;
  if (backwards) std::reverse(parts.begin(), parts.end());
  std::vector<Part> merged;
  bool neighbour = false;  // also of the first, which has none
  for (const Part& part : parts) {
    if (!merged.empty() && Joins(behavior, part, neighbour)) {
      merged.back().begin = std::min(merged.back().begin, part.begin);
      merged.back().end = std::max(merged.back().end, part.end);
    } else {
      merged.push_back(part);
    }
    neighbour = part.is_delimiter;
  }
  if (backwards) std::reverse(merged.begin(), merged.end());
  return merged;
}

/// Splits every word where `find(text)` finds a delimiter.
template <class Find>
void Split(std::vector<Word>& words, const Find& find, Behavior behavior, bool invert = false) {
  std::vector<Word> result;
  for (const Word& word : words) {
    for (const Part& part : Merged(PartsOf(find(word.text), word.text.size(), invert), behavior)) {
      if (part.begin == part.end) continue;
      result.push_back({word.text.substr(part.begin, part.end - part.begin), word.is_first && part.begin == 0});
    }
  }
  words = std::move(result);
}

/// Splits at each character for which `is_delimiter` is true.
void SplitAt(std::vector<Word>& words, bool (*is_delimiter)(char32_t), Behavior behavior) {
  const auto find = [is_delimiter](std::string_view text) {
    std::vector<Match> matches;
    ForEachCharacter(text, [&](const Character& character, std::size_t at) {
      if (is_delimiter(character.code)) matches.push_back({at, at + character.size});
    });
    return matches;
  };
  Split(words, find, behavior);
}

/// Splits at the matches of a Regex or a Pattern.
template <class Pattern>
void SplitBy(std::vector<Word>& words, Steps& steps, const Pattern& pattern, Behavior behavior, bool invert) {
  Split(words, [&](std::string_view text) { return pattern.FindAll(text, steps); }, behavior, invert);
}

PreTokenizer MakeByteLevel(const JsonField& field) {
  static const auto kWords = std::make_shared<const Regex>(
      PcreFromOniguruma(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"));
  const bool prefix = field["add_prefix_space"].Flag(false), split = field["use_regex"].Flag(true);
  return [=](std::vector<Word>& words, Steps& steps) {
    for (Word& word : words) {
      if (prefix && !word.text.starts_with(' ')) word.text.insert(0, 1, ' ');
    }
    if (split) SplitBy(words, steps, *kWords, Behavior::kIsolated, false);
    for (Word& word : words) word.text = ByteLetters(word.text);
  };
}

PreTokenizer MakeWhitespace(const JsonField&) {
  const std::string word(kUnicodeWordClass);
  const auto regex = std::make_shared<const Regex>("[" + word + "]+|[^" + word + R"(\p{White_Space}]+)");
  return [regex](std::vector<Word>& words, Steps& steps) { SplitBy(words, steps, *regex, Behavior::kRemoved, true); };
}

PreTokenizer MakeWhitespaceSplit(const JsonField&) {
  return [](std::vector<Word>& words, Steps&) { SplitAt(words, IsWhitespace, Behavior::kRemoved); };
}

PreTokenizer MakeBert(const JsonField&) {
  return [](std::vector<Word>& words, Steps&) {
    SplitAt(words, IsWhitespace, Behavior::kRemoved);
    SplitAt(words, IsPunctuation, Behavior::kIsolated);
  };
}

PreTokenizer MakeDelimiter(const JsonField& field) {
  const JsonField delimiter = field["delimiter"];
  const std::string mark = delimiter.Text();
  if (mark.empty() || CharacterAt(mark, 0).size != mark.size()) delimiter.Fail("one character");
  return [mark](std::vector<Word>& words, Steps&) {
    Split(words, [&mark](std::string_view text) { return PlacesOf(mark, text); }, Behavior::kRemoved);
  };
}

PreTokenizer MakeDigits(const JsonField& field) {
  const Behavior behavior = field["individual_digits"].Flag(false) ? Behavior::kIsolated : Behavior::kContiguous;
  return [behavior](std::vector<Word>& words, Steps&) { SplitAt(words, IsNumber, behavior); };
}

PreTokenizer MakePunctuation(const JsonField& field) {
  return [behavior = BehaviorOf(field["behavior"], Behavior::kIsolated)](std::vector<Word>& words, Steps&) {
    SplitAt(words, IsPunctuation, behavior);
  };
}

PreTokenizer MakeSplit(const JsonField& field) {
  return [pattern = Pattern(field["pattern"]), behavior = BehaviorOf(field["behavior"], Behavior::kIsolated),
          invert = field["invert"].Flag(false)](std::vector<Word>& words, Steps& steps) {
    SplitBy(words, steps, pattern, behavior, invert);
  };
}

enum class Prefix { kAlways, kFirst, kNever };

/// Older files have "add_prefix_space" instead of "prepend_scheme".
Prefix PrefixOf(const JsonField& field) {
  const JsonField scheme = field["prepend_scheme"];
  const std::string name = scheme.Text(field["add_prefix_space"].Flag(true) ? "always" : "never");
  if (name == "always") return Prefix::kAlways;
  if (name == "first") return Prefix::kFirst;
  if (name != "never") scheme.Refuse("always, first, never");
  return Prefix::kNever;
}

PreTokenizer MakeMetaspace(const JsonField& field) {
  const std::string mark = field["replacement"].Text("▁");
  if (mark.empty() || CharacterAt(mark, 0).size != mark.size()) field["replacement"].Fail("one character");
  return [mark, prefix = PrefixOf(field), split = field["split"].Flag(true)](std::vector<Word>& words, Steps&) {
    for (Word& word : words) {
      std::string text;
      for (const char c : word.text) c == ' ' ? text += mark : text += c;
      const bool wants = prefix == Prefix::kAlways || (prefix == Prefix::kFirst && word.is_first);
      word.text = wants && !text.starts_with(mark) ? mark + text : std::move(text);
    }
    if (!split) return;
    Split(words, [&mark](std::string_view text) { return PlacesOf(mark, text); }, Behavior::kMergedWithNext);
  };
}

const std::map<std::string_view, PreTokenizer (*)(const JsonField&)> kKinds = {
    {"BertPreTokenizer", MakeBert}, {"ByteLevel", MakeByteLevel},   {"CharDelimiterSplit", MakeDelimiter},
    {"Digits", MakeDigits},         {"Metaspace", MakeMetaspace},   {"Punctuation", MakePunctuation},
    {"Split", MakeSplit},           {"Whitespace", MakeWhitespace}, {"WhitespaceSplit", MakeWhitespaceSplit},
};

}  // namespace

PreTokenizer MakePreTokenizer(const JsonField& field) {
  std::vector<PreTokenizer> all;
  ForEachStep(field, "pretokenizers", [&all](const JsonField& step) { all.push_back(Make(kKinds, step)); });
  return [all = std::move(all)](std::vector<Word>& words, Steps& steps) {
    for (const PreTokenizer& step : all) {
      step(words, steps);
      std::size_t bytes = 0;
      for (const Word& word : words) bytes += word.text.size();
      steps.TakePass(bytes, words.size());
      if (bytes > kMaxText) {
        throw Wrong(ErrorCode::kMemory, "the text", "grows to", {bytes, " bytes"},
                    {"at most ", kMaxText, " when split"});
      }
    }
  };
}

}  // namespace headlens::tokenizer
