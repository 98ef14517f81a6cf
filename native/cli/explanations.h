// SPDX-License-Identifier: Apache-2.0
/// Explanations of heads, as tables for people and as JSON.
#ifndef HEADLENS_NATIVE_CLI_EXPLANATIONS_H_
#define HEADLENS_NATIVE_CLI_EXPLANATIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/json_text.h"
#include "cli/model_run.h"
#include "headlens/explanation.h"

namespace headlens::cli {

/// "token", "head 0.3", "cross 0.3", "feed-forward 1", …
std::string NameOf(const StreamPart& part);
/// "layer 3, head 2"
std::string NameOfHead(Index layer, Index head);
/// "9 “·was”"
std::string NameOfToken(Index at, const std::vector<std::string>& names);
/// [{"kind": "head", "layer": 0, "head": 3}, …]
nlohmann::ordered_json ToJson(const std::vector<StreamPart>& parts);

/// Begins the JSON of what a model has read: "tokens" and "pieces", or "patches"; for an encoder–decoder also
/// "source_tokens" and "source_pieces".
JsonObject JsonOf(const RunInput& input);

/// The place of a head's map that is explained.
struct ExplainedPlace {
  Index layer = 0, head = 0;
  std::optional<Index> query, key, against;
  AttentionPart part = AttentionPart::kDecoder;
};

/// The names of the tokens that look, and of those that are looked at.
struct PlaceNames {
  std::vector<std::string> queries, keys;
};
PlaceNames NamesOf(const RunInput& input, AttentionPart part);

/// The terms, or parts of a kind, that tables show unless told otherwise.
inline constexpr Index kShownTerms = 12;

/// Print a table with the `top` largest terms, parts or keys. A row without `top` has all keys that the query sees, in
/// their order.
void Print(const CellExplanation& cell, const ExplainedPlace& place, const PlaceNames& names, std::optional<Index> top);
void Print(const RowExplanation& row, const ExplainedPlace& place, const PlaceNames& names, std::optional<Index> top);
void Print(const OutputExplanation& output, const ExplainedPlace& place, const PlaceNames& names,
           std::optional<Index> top);
void Print(const HeadSources& sources, const ExplainedPlace& place, const PlaceNames& names, std::optional<Index> top);

/// Add all that an explanation holds.
void AddTo(JsonObject& json, const CellExplanation& cell);
void AddTo(JsonObject& json, const RowExplanation& row);
void AddTo(JsonObject& json, const OutputExplanation& output);
void AddTo(JsonObject& json, const HeadSources& sources);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_EXPLANATIONS_H_
