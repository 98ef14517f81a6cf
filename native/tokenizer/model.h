// SPDX-License-Identifier: Apache-2.0
/// Models, which turn words into tokens.
#ifndef HEADLENS_NATIVE_TOKENIZER_MODEL_H_
#define HEADLENS_NATIVE_TOKENIZER_MODEL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/fields.h"

namespace headlens::tokenizer {

/// The tokens with their ids.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Reads {"token": id, …}. Throws Error(kFormat).
  explicit Vocabulary(const JsonField& field);

  void Add(const std::string& token, Id id);
  std::optional<Id> Find(std::string_view token) const;
  /// Null when no token has the id.
  const std::string* TokenOf(Id id) const;
  std::size_t longest() const { return longest_; }  ///< in bytes

 private:
  // An ordered map, so that a hostile file cannot make look-ups slow.
  std::map<std::string, Id, std::less<>> ids_;
  std::map<Id, const std::string*> tokens_;
  std::size_t longest_ = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  /// Appends the ids of a word's tokens. Throws Error(kValue) when the vocabulary cannot express the word.
  virtual void Encode(std::string_view word, std::vector<Id>& ids) const = 0;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

/// The mark of tokens inside or at the end of words. It has at most 16 bytes, since every character of a text may get
/// it.
std::string AffixOf(const JsonField& field, const std::string& otherwise);

/// Makes the model of tokenizer.json's "model". Throws Error.
std::unique_ptr<Model> MakeModel(const JsonField& field);

/// Byte-pair encoding (Sennrich et al. 2016): merges pairs in the order of the list.
std::unique_ptr<Model> MakeBpe(const JsonField& field);
/// Takes the longest token that fits, from left to right (Schuster & Nakajima 2012, in BERT's version).
std::unique_ptr<Model> MakeWordPiece(const JsonField& field);
/// Takes whole words.
std::unique_ptr<Model> MakeWordLevel(const JsonField& field);
/// Takes the most likely sequence of tokens (Kudo 2018).
std::unique_ptr<Model> MakeUnigram(const JsonField& field);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_MODEL_H_
