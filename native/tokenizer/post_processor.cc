// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/post_processor.h"

#include <map>
#include <string_view>

#include "headlens/error.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{16} << 20;

/// Hugging Face's library trims offsets here. This program has no offsets.
PostProcessor MakeByteLevel(const Field&) {
  return [](std::vector<Id>&) {};
}

/// "cls" and "sep" are [token, id].
PostProcessor MakeBert(const Field& field) {
  return [first = field.At("cls").Element(1).ToId(), last = field.At("sep").Element(1).ToId()](std::vector<Id>& ids) {
    ids.insert(ids.begin(), first);
    ids.push_back(last);
  };
}

/// One place of a template: the text, or special tokens.
struct Place {
  bool is_text;
  std::vector<Id> ids;
};

Place PlaceOf(const Field& piece, const Field& special) {
  if (const Field text = piece.At("Sequence"); !text.is_null()) {
    if (text.At("id").String() != "A") text.At("id").Fail("\"A\" in the template of a single text");
    return {true, {}};
  }
  const Field name = piece.At("SpecialToken").At("id");
  const Field token = special.At(name.String().c_str());
  if (token.is_null()) name.Fail("one of post_processor.special_tokens");
  const Field list = token.At("ids");
  std::vector<Id> ids;
  for (std::size_t i = 0; i < list.ListSize(); ++i) ids.push_back(list.Element(i).ToId());
  return {false, std::move(ids)};
}

PostProcessor MakeTemplate(const Field& field) {
  const Field single = field.At("single");
  std::vector<Place> places;
  for (std::size_t i = 0; i < single.ListSize(); ++i) {
    places.push_back(PlaceOf(single.Element(i), field.At("special_tokens")));
  }
  return [places = std::move(places)](std::vector<Id>& ids) {
    std::vector<Id> result;
    for (const Place& place : places) {
      const std::vector<Id>& more = place.is_text ? ids : place.ids;
      if (result.size() + more.size() > kMaxTokens) {
        throw Error(ErrorCode::kMemory, "the template makes more than " + std::to_string(kMaxTokens) + " tokens");
      }
      result.insert(result.end(), more.begin(), more.end());
    }
    ids = std::move(result);
  };
}

const std::map<std::string_view, PostProcessor (*)(const Field&)> kKinds = {
    {"BertProcessing", MakeBert},
    {"ByteLevel", MakeByteLevel},
    {"RobertaProcessing", MakeBert},
    {"TemplateProcessing", MakeTemplate},
};

}  // namespace

PostProcessor MakePostProcessor(const Field& field) {
  std::vector<PostProcessor> steps;
  ForEachStep(field, "processors", [&steps](const Field& step) { steps.push_back(Make(kKinds, step)); });
  return [steps = std::move(steps)](std::vector<Id>& ids) {
    for (const PostProcessor& step : steps) step(ids);
  };
}

}  // namespace headlens::tokenizer
