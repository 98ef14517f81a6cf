// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "headlens/error.h"
#include "tokenizer/model.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::int64_t kMaxCharacters = 1000;  // the longest word, since finding its tokens takes quadratic time

/// Models that know some words, and have one token for all others.
class WordModel : public Model {
 public:
  explicit WordModel(const JsonField& field) : unknown_(field["unk_token"].Text()) {
    vocabulary_ = Vocabulary(field["vocab"]);
  }

 protected:
  Id Unknown(std::string_view word) const {
    if (const auto id = vocabulary_.Find(unknown_)) return *id;
    throw Wrong(ErrorCode::kValue, "the text", "has", Quoted(word),
                {"words of model.vocab, which lacks model.unk_token, ", Quoted(unknown_)});
  }

 private:
  std::string unknown_;
};

class WordPiece final : public WordModel {
 public:
  explicit WordPiece(const JsonField& field)
      : WordModel(field), prefix_(AffixOf(field["continuing_subword_prefix"], "##")) {
    const JsonField most = field["max_input_chars_per_word"];
    if (!most.is_null()) max_characters_ = static_cast<std::size_t>(most.Whole(0, kMaxCharacters));
  }

  void Encode(std::string_view word, std::vector<Id>& ids) const override {
    std::size_t characters = 0;
    ForEachCharacter(word, [&characters](const Character&, std::size_t) { ++characters; });
    const std::size_t before = ids.size();
    for (std::size_t at = 0; at < word.size() && characters <= max_characters_;) {
      const std::size_t size = LongestAt(word, at, ids);
      if (size == 0) break;
      at += size;
      if (at == word.size()) return;
    }
    ids.resize(before);
    ids.push_back(Unknown(word));
  }

 private:
  /// Appends the longest token with which `word` continues at `at`. Returns its size, or 0 when there is none.
  std::size_t LongestAt(std::string_view word, std::size_t at, std::vector<Id>& ids) const {
    const std::string_view prefix = at > 0 ? std::string_view(prefix_) : "";
    const std::size_t longest = std::max(vocabulary_.longest(), prefix.size()) - prefix.size();
    for (std::size_t size = std::min(word.size() - at, longest); size > 0; --size) {
      if (at + size < word.size() && (static_cast<unsigned char>(word[at + size]) & 0xC0U) == 0x80) continue;
      if (const auto id = vocabulary_.Find(std::string(prefix).append(word.substr(at, size)))) {
        ids.push_back(*id);
        return size;
      }
    }
    return 0;
  }

  std::string prefix_;
  std::size_t max_characters_ = 100;
};

class WordLevel final : public WordModel {
 public:
  using WordModel::WordModel;
  void Encode(std::string_view word, std::vector<Id>& ids) const override {
    const auto id = vocabulary_.Find(word);
    ids.push_back(id ? *id : Unknown(word));
  }
};

}  // namespace

std::unique_ptr<Model> MakeWordPiece(const JsonField& field) { return std::make_unique<WordPiece>(field); }
std::unique_ptr<Model> MakeWordLevel(const JsonField& field) { return std::make_unique<WordLevel>(field); }

}  // namespace headlens::tokenizer
