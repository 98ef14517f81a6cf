// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/post_processor.h"

#include <map>
#include <string_view>

#include "headlens/error.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxTokens = std::size_t{16} << 20;

/// Hugging Face's library trims offsets here. This program has no offsets.
PostProcessor MakeByteLevel(const JsonField&) {
  return [](std::vector<Id>&) {};
}

/// "cls" and "sep" are [token, id].
PostProcessor MakeBert(const JsonField& field) {
  return [first = ToId(field["cls"].Element(1)), last = ToId(field["sep"].Element(1))](std::vector<Id>& ids) {
    ids.insert(ids.begin(), first);
    ids.push_back(last);
  };
}

/// One place of a template: the text, or special tokens.
struct Place {
  bool is_text;
  std::vector<Id> ids;
};

Place PlaceOf(const JsonField& piece, const JsonField& special) {
  if (const JsonField text = piece["Sequence"]; !text.is_null()) {
    if (text["id"].Text() != "A") text["id"].Fail("\"A\" in the template of a single text");
    return {true, {}};
  }
  const JsonField name = piece["SpecialToken"]["id"];
  const JsonField token = special.Named(name.Text());
  if (token.is_null()) name.Fail("one of post_processor.special_tokens");
  const JsonField list = token["ids"];
  std::vector<Id> ids;
  for (std::size_t i = 0; i < list.ListSize(); ++i) ids.push_back(ToId(list.Element(i)));
  return {false, std::move(ids)};
}

PostProcessor MakeTemplate(const JsonField& field) {
  const JsonField single = field["single"];
  std::vector<Place> places;
  for (std::size_t i = 0; i < single.ListSize(); ++i) {
    places.push_back(PlaceOf(single.Element(i), field["special_tokens"]));
  }
  return [places = std::move(places)](std::vector<Id>& ids) {
    std::vector<Id> result;
    for (const Place& place : places) {
      const std::vector<Id>& more = place.is_text ? ids : place.ids;
      if (result.size() + more.size() > kMaxTokens) {
        throw Wrong(ErrorCode::kMemory, "the template", "makes", {result.size() + more.size(), " tokens"},
                    {"at most ", kMaxTokens});
      }
      result.insert(result.end(), more.begin(), more.end());
    }
    ids = std::move(result);
  };
}

const std::map<std::string_view, PostProcessor (*)(const JsonField&)> kKinds = {
    {"BertProcessing", MakeBert},
    {"ByteLevel", MakeByteLevel},
    {"RobertaProcessing", MakeBert},
    {"TemplateProcessing", MakeTemplate},
};

}  // namespace

PostProcessor MakePostProcessor(const JsonField& field) {
  std::vector<PostProcessor> steps;
  ForEachStep(field, "processors", [&steps](const JsonField& step) { steps.push_back(Make(kKinds, step)); });
  return [steps = std::move(steps)](std::vector<Id>& ids) {
    for (const PostProcessor& step : steps) step(ids);
  };
}

}  // namespace headlens::tokenizer
