// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/model.h"

#include <algorithm>
#include <limits>

namespace headlens::tokenizer {

Vocabulary::Vocabulary(const JsonField& field) {
  if (!field.value().is_object()) field.Fail("an object of tokens and their ids");
  for (const auto& [token, id] : field.value().items()) {
    const bool is_id = id.is_number_unsigned() && id.get<std::uint64_t>() <= std::numeric_limits<Id>::max();
    Add(token, is_id ? id.get<Id>() : ToId(field.Named(token)));  // a name for each token would take long
  }
}

void Vocabulary::Add(const std::string& token, Id id) {
  const auto place = ids_.insert_or_assign(token, id).first;
  tokens_[id] = &place->first;
  longest_ = std::max(longest_, token.size());
}

std::optional<Id> Vocabulary::Find(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Vocabulary::TokenOf(Id id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : found->second;
}

std::string AffixOf(const JsonField& field, const std::string& otherwise) {
  std::string affix = field.Text(otherwise);
  if (affix.size() > 16) field.Refuse("up to 16 bytes");
  return affix;
}

std::unique_ptr<Model> MakeModel(const JsonField& field) {
  static const std::map<std::string_view, std::unique_ptr<Model> (*)(const JsonField&)> kKinds = {
      {"BPE", MakeBpe}, {"Unigram", MakeUnigram}, {"WordLevel", MakeWordLevel}, {"WordPiece", MakeWordPiece}};
  if (!field["type"].is_null()) return Make(kKinds, field);
  // The first versions of the library do not write a type.
  if (!field["merges"].is_null()) return MakeBpe(field);
  if (field["vocab"].value().is_array()) return MakeUnigram(field);
  if (!field["continuing_subword_prefix"].is_null()) return MakeWordPiece(field);
  field["type"].Fail("BPE, Unigram, WordLevel or WordPiece");
}

}  // namespace headlens::tokenizer
