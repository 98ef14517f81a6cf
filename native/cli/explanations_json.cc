// SPDX-License-Identifier: Apache-2.0
#include "cli/explanations.h"

namespace headlens::cli {

nlohmann::ordered_json ToJson(const std::vector<StreamPart>& parts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StreamPart& part : parts) {
    nlohmann::ordered_json object = {{"kind", ToString(part.kind)}};
    if (part.layer >= 0) object["layer"] = part.layer;
    if (part.head >= 0) object["head"] = part.head;
    list.push_back(std::move(object));
  }
  return list;
}

JsonObject JsonOf(const RunInput& input) {
  JsonObject json;
  if (input.is_image()) json.Add("patches", {input.patches.rows, input.patches.columns});
  if (!input.ids.empty()) json.Add("tokens", input.ids);
  if (!input.pieces.empty()) json.Add("pieces", input.pieces);
  if (!input.source_tokens.ids.empty()) json.Add("source_tokens", input.source_tokens.ids);
  if (!input.source_tokens.pieces.empty()) json.Add("source_pieces", input.source_tokens.pieces);
  return json;
}

void AddTo(JsonObject& json, const CellExplanation& cell) {
  json.AddNumber("score", static_cast<float>(cell.score));
  for (const ScoreStep& step : cell.steps) json.AddNumber(step.stage, step.values[0]);
  json.Add("query_parts", ToJson(cell.query_parts));
  json.Add("key_parts", ToJson(cell.key_parts));
  json.AddRows("terms", cell.terms.view<2>());
}

void AddTo(JsonObject& json, const RowExplanation& row) {
  json.AddNumbers("scores", row.scores);
  for (const ScoreStep& step : row.steps) json.AddNumbers(step.stage, step.values);
  json.Add("query_parts", ToJson(row.query_parts));
  json.AddRows("by_query", row.by_query.view<2>());
  json.Add("key_parts", ToJson(row.key_parts));
  json.AddRows("by_key", row.by_key.view<2>());
}

void AddTo(JsonObject& json, const OutputExplanation& output) {
  json.AddNumbers("written", output.written.values());
  json.Add("parts", ToJson(output.parts));
  json.AddRows("terms", output.terms.view<2>());
}

void AddTo(JsonObject& json, const HeadSources& sources) {
  const auto add = [&json](const std::string& side, const std::vector<StreamPart>& parts,
                           const std::vector<double>& sums) {
    json.Add(side + "_parts", ToJson(parts));
    json.Add(side, sums);
  };
  add("query", sources.query_parts, sources.query);
  add("key", sources.key_parts, sources.key);
  add("value", sources.value_parts, sources.value);
}

}  // namespace headlens::cli
