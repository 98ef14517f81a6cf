// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <queue>
#include <tuple>

#include "headlens/error.h"
#include "tokenizer/model.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

/// A pair of tokens that can be merged into one. In each word, the pair with the lowest rank is merged first.
struct Merge {
  Id left, right;
  std::uint32_t rank;
  Id merged;
};

auto PairOf(const Merge& merge) { return std::tuple(merge.left, merge.right); }

/// A token of the word, in a doubly linked list.
struct Symbol {
  Id id;
  int previous, next;  ///< -1: there is none
  bool is_gone = false;
};

/// A pair that may be merged: the symbol at `at` and the next one. It is outdated when either has changed since.
struct Candidate {
  std::uint32_t rank;
  int at;
  Id merged;
  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

class Bpe final : public Model {
 public:
  explicit Bpe(const JsonField& field)
      : prefix_(AffixOf(field["continuing_subword_prefix"], "")),
        suffix_(AffixOf(field["end_of_word_suffix"], "")),
        fuse_unknown_(field["fuse_unk"].Flag(false)),
        byte_fallback_(field["byte_fallback"].Flag(false)),
        ignore_merges_(field["ignore_merges"].Flag(false)) {
    vocabulary_ = Vocabulary(field["vocab"]);
    const JsonField unknown = field["unk_token"];
    if (!unknown.is_null()) {
      has_unknown_ = true;
      unknown_ = vocabulary_.Find(unknown.Text());
    }
    ReadMerges(field["merges"]);
    for (unsigned byte = 0; byte < bytes_.size(); ++byte) {
      std::array<char, 8> name{};
      std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
      bytes_[byte] = vocabulary_.Find(name.data());
    }
  }

  void Encode(std::string_view word, std::vector<Id>& ids) const override {
    if (ignore_merges_) {
      if (const auto whole = vocabulary_.Find(word)) return ids.push_back(*whole);
    }
    MergeAll(SymbolsOf(word), ids);
  }

 private:
  void ReadMerges(const JsonField& list) {
    if (!list.value().is_array()) list.Fail("a list of pairs of tokens");
    for (std::size_t i = 0; i < list.ListSize(); ++i) merges_.push_back(ReadMerge(list.Element(i), i));
    // A pair that is listed twice has the rank of its last place.
    std::stable_sort(merges_.begin(), merges_.end(), [](auto& a, auto& b) { return PairOf(a) < PairOf(b); });
    const auto same = [](auto& a, auto& b) { return PairOf(a) == PairOf(b); };
    merges_.erase(merges_.begin(), std::unique(merges_.rbegin(), merges_.rend(), same).base());
  }

  /// Reads "left right" or ["left", "right"].
  Merge ReadMerge(const JsonField& pair, std::size_t rank) const {
    std::string left, right;
    if (pair.value().is_array() && pair.ListSize() == 2) {
      left = pair.Element(0).Text();
      right = pair.Element(1).Text();
    } else {
      const std::string& both = pair.Text();
      const std::size_t space = both.find(' ');
      if (space == both.npos || both.find(' ', space + 1) != both.npos)
        pair.Fail("two tokens with a space between them");
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
    if (!right.starts_with(prefix_)) pair.Fail("a second token that starts with " + Quoted(prefix_));
    const std::string merged = left + right.substr(prefix_.size());
    return {IdIn(pair, left), IdIn(pair, right), static_cast<std::uint32_t>(rank), IdIn(pair, merged)};
  }

  Id IdIn(const JsonField& pair, const std::string& token) const {
    if (const auto id = vocabulary_.Find(token)) return *id;
    throw Wrong(ErrorCode::kFormat, pair.name(), "needs", Quoted(token), "a token of model.vocab");
  }

  const Merge* FindMerge(Id left, Id right) const {
    const auto found = std::lower_bound(merges_.begin(), merges_.end(), std::tuple(left, right),
                                        [](const Merge& merge, const auto& pair) { return PairOf(merge) < pair; });
    return found != merges_.end() && PairOf(*found) == std::tuple(left, right) ? &*found : nullptr;
  }

  Id Unknown(std::string_view character) const {
    if (unknown_) return *unknown_;
    throw Wrong(ErrorCode::kValue, "the text", "has", Quoted(character),
                "characters of model.vocab, which lacks model.unk_token");
  }

  /// Makes one symbol for each character. A character that is not in the vocabulary becomes its bytes or the unknown
  /// token; without either it is left out, as in Hugging Face's library.
  std::vector<Symbol> SymbolsOf(std::string_view word) const {
    std::vector<Symbol> symbols;
    const auto add = [&symbols](Id id) {
      const auto at = static_cast<int>(symbols.size());
      if (at > 0) symbols.back().next = at;
      symbols.push_back({id, at - 1, -1});
    };
    std::string_view unknown;  // a character whose unknown token still has to be added
    ForEachCharacter(word, [&](const Character& character, std::size_t at) {
      std::string token(at > 0 ? prefix_ : "");
      token += word.substr(at, character.size);
      if (at + character.size == word.size()) token += suffix_;
      if (const auto id = vocabulary_.Find(token)) {
        if (!unknown.empty()) add(Unknown(std::exchange(unknown, {})));
        add(*id);
      } else if (byte_fallback_ && HasBytes(token)) {
        for (const char byte : token) add(*bytes_[static_cast<unsigned char>(byte)]);
      } else if (has_unknown_) {
        if (!unknown.empty() && !fuse_unknown_) add(Unknown(unknown));
        unknown = word.substr(at, character.size);
      }
    });
    if (!unknown.empty()) add(Unknown(unknown));
    return symbols;
  }

  bool HasBytes(std::string_view token) const {
    return std::all_of(token.begin(), token.end(),
                       [this](char byte) { return bytes_[static_cast<unsigned char>(byte)].has_value(); });
  }

  /// Merges pairs in O(n log n): each merge removes one symbol and adds at most two candidates.
  void MergeAll(std::vector<Symbol> symbols, std::vector<Id>& ids) const {
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto at = [&symbols](int i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
    const auto consider = [&](int i) {
      if (i < 0 || at(i).next < 0) return;
      if (const Merge* merge = FindMerge(at(i).id, at(at(i).next).id)) queue.push({merge->rank, i, merge->merged});
    };
    for (int i = 0; i < static_cast<int>(symbols.size()); ++i) consider(i);
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      Symbol& left = at(top.at);
      if (left.is_gone || left.next < 0) continue;
      Symbol& right = at(left.next);
      const Merge* merge = FindMerge(left.id, right.id);
      if (merge == nullptr || merge->merged != top.merged) continue;
      left.id = top.merged;
      left.next = right.next;
      right.is_gone = true;
      if (left.next >= 0) at(left.next).previous = top.at;
      consider(left.previous);
      consider(top.at);
    }
    for (const Symbol& symbol : symbols) {
      if (!symbol.is_gone) ids.push_back(symbol.id);
    }
  }

  std::string prefix_, suffix_;
  bool fuse_unknown_, byte_fallback_, ignore_merges_;
  bool has_unknown_ = false;
  std::optional<Id> unknown_;
  std::array<std::optional<Id>, 256> bytes_;
  std::vector<Merge> merges_;  // sorted by pair
};

}  // namespace

std::unique_ptr<Model> MakeBpe(const JsonField& field) { return std::make_unique<Bpe>(field); }

}  // namespace headlens::tokenizer
