// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <new>
#include <optional>

#include "headlens/error.h"
#include "tokenizer/fields.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::uint32_t kHeapKib = 256 * 1024;  // for backtracking; PCRE2's own limit is 20 GB
constexpr std::size_t kMaxPattern = 1 << 16;
constexpr std::size_t kStepsPerSearch = 16;  // the cost of starting a search

template <auto kFree>
struct Freeing {
  template <class T>
  void operator()(T* value) const {
    kFree(value);
  }
};
template <class T, auto kFree>
using Handle = std::unique_ptr<T, Freeing<kFree>>;

template <class T>
T* Allocated(T* value) {
  if (value == nullptr) throw std::bad_alloc();
  return value;
}

std::string MessageOf(int code) {
  std::array<PCRE2_UCHAR, 160> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Phrase NameOf(std::string_view pattern) { return {"the regular expression ", Quoted(pattern)}; }

struct Count {
  Steps& steps;
  std::size_t last = 0;
};

/// PCRE2 calls this function before each part of the expression that it tries, and the time between two calls is in
/// proportion to the text in between. (PCRE2's own limit only counts backtracking.)
int Counted(pcre2_callout_block* block, void* data) {
  auto& count = *static_cast<Count*>(data);
  const std::size_t at = block->current_position;
  const std::size_t way = at > count.last ? at - count.last : count.last - at;
  count.last = at;
  return count.steps.Take(1 + way) ? 0 : PCRE2_ERROR_CALLOUT;
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  if (pattern.size() > kMaxPattern) {
    throw Wrong(ErrorCode::kUnsupported, NameOf(pattern), "has", {pattern.size(), " bytes"}, {"at most ", kMaxPattern});
  }
  const Handle<pcre2_compile_context, pcre2_compile_context_free> context(
      Allocated(pcre2_compile_context_create(nullptr)));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  constexpr std::uint32_t kOptions =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
  int error = 0;
  std::size_t at = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), kOptions, &error, &at,
                            context.get()));
  if (!code_) {
    const Phrase name = NameOf(pattern), reason = MessageOf(error);
    throw Error(ErrorCode::kUnsupported, name, reason, "what PCRE2 reads", {name, " cannot be read: ", reason});
  }
}

std::vector<Match> Regex::FindAll(std::string_view text, Steps& steps) const {
  const auto give_up = [this](const std::string& reason) {
    const Phrase name = NameOf(pattern_);
    throw Error(ErrorCode::kValue, name, reason, "", {name, " gives up on the text: ", reason});
  };
  constexpr const char* kTooMany = "too many steps";
  if (!steps.Take(kStepsPerSearch)) give_up(kTooMany);
  const Handle<pcre2_match_context, pcre2_match_context_free> context(Allocated(pcre2_match_context_create(nullptr)));
  const Handle<pcre2_match_data, pcre2_match_data_free> data(
      Allocated(pcre2_match_data_create_from_pattern(code_.get(), nullptr)));
  pcre2_set_heap_limit(context.get(), kHeapKib);
  std::vector<Match> matches;
  std::optional<std::size_t> last_end;
  for (std::size_t from = 0; from <= text.size();) {
    Count count{steps, from};
    pcre2_set_callout(context.get(), Counted, &count);
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) give_up(found == PCRE2_ERROR_CALLOUT ? kTooMany : MessageOf(found));
    const std::size_t* range = pcre2_get_ovector_pointer(data.get());
    const Match match{range[0], range[1]};
    if (match.begin == match.end && last_end == match.end) {
      if (from == text.size()) break;
      from += CharacterAt(text, from).size;
      continue;
    }
    matches.push_back(match);
    last_end = from = match.end;
  }
  return matches;
}

bool IsScript(std::string_view name) {
  const bool is_name = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == name.npos;
  const std::string pattern = "\\p{sc:" + std::string(name) + "}";
  int error = 0;
  std::size_t at = 0;
  const Handle<pcre2_code, pcre2_code_free> code(
      is_name
          ? pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &at, nullptr)
          : nullptr);
  return code != nullptr;
}

bool IsWordCharacter(std::string_view character) {
  static const Regex kWord("[" + std::string(kUnicodeWordClass) + "]");
  Steps steps(character.size());
  return !kWord.FindAll(character, steps).empty();
}

}  // namespace headlens::tokenizer
