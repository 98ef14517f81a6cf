// SPDX-License-Identifier: Apache-2.0
#include "cli/comparisons.h"

#include <cstdint>
#include <iostream>

#include "cli/explanations.h"
#include "cli/table.h"

namespace headlens::cli {
namespace {

using TokenTexts = std::vector<std::string>;

const std::string& TextAt(const TokenTexts& names, Index token) { return names[static_cast<std::size_t>(token)]; }

/// A table of the pairs that diverge most.
std::vector<Cells> MostDivergent(const Compared& compared, const TokenTexts& names, Index top) {
  std::vector<Cells> rows;
  const std::vector<float> sizes(compared.divergences.begin(), compared.divergences.end());
  for (const Index place : LargestOf(sizes, top)) {
    const auto& [a, b] = compared.pairs[static_cast<std::size_t>(place)];
    const double divergence = compared.divergences[static_cast<std::size_t>(place)];
    rows.push_back({std::to_string(a), std::to_string(b), Fixed(divergence, 4), TextAt(names, a)});
  }
  return rows;
}

/// A table of all tokens in order, where those of one run alone stand before the next pair.
std::vector<Cells> AllTokens(const Compared& compared, const TokenTexts& first, const TokenTexts& second) {
  std::vector<Cells> rows;
  TokenPair next;
  const auto add_unpaired = [&](const TokenPair& end) {
    for (; next.a < end.a; ++next.a) rows.push_back({std::to_string(next.a), "-", "", TextAt(first, next.a)});
    for (; next.b < end.b; ++next.b) rows.push_back({"-", std::to_string(next.b), "", TextAt(second, next.b)});
  };
  for (std::size_t i = 0; i < compared.pairs.size(); ++i) {
    const TokenPair& pair = compared.pairs[i];
    add_unpaired(pair);
    const std::string divergence = i < compared.divergences.size() ? Fixed(compared.divergences[i], 4) : "";
    rows.push_back({std::to_string(pair.a), std::to_string(pair.b), divergence, TextAt(first, pair.a)});
    next = {pair.a + 1, pair.b + 1};
  }
  add_unpaired({static_cast<Index>(first.size()), static_cast<Index>(second.size())});
  return rows;
}

void PrintAlignment(const Compared& compared, const TokenTexts& first, const TokenTexts& second,
                    std::optional<Index> top) {
  const std::size_t pairs = compared.pairs.size();
  std::cout << "tokens: " << first.size() << " in the first run, " << second.size() << " in the second, " << pairs
            << " in both\n\n";
  const bool some = top && pairs > 0 && compared.divergences.size() == pairs;
  std::vector<Cells> rows = some ? MostDivergent(compared, first, *top) : AllTokens(compared, first, second);
  rows.insert(rows.begin(), {"first", "second", compared.divergences.empty() ? "" : "divergence", "token"});
  PrintColumns(rows, "rrrl");
}

/// The tokens whose probability grew most, or fell most.
std::vector<std::int32_t> Movers(const PredictionChange& prediction, Index top, bool grew) {
  std::vector<float> changes;
  for (std::size_t v = 0; v < prediction.before.probabilities.size(); ++v)
    changes.push_back(static_cast<float>(prediction.after.probabilities[v] - prediction.before.probabilities[v]));
  std::vector<std::int32_t> movers;
  for (const auto& [token, change] : ExtremeLogits(changes, top, grew))
    if (grew ? change > 0.0f : change < 0.0f) movers.push_back(token);
  return movers;
}

void PrintPrediction(const PredictionChange& prediction, const TokenTexts& names, const OutputTokens& tokens,
                     Index top) {
  std::cout << "\npredictions at position " << NameOfToken(prediction.at.a, names) << "\n";
  for (const bool grew : {true, false}) {
    std::vector<Cells> rows = {Line({"first", "second"}, tokens.Titles())};
    for (const std::int32_t token : Movers(prediction, top, grew)) {
      rows.push_back(
          Line({Fixed(prediction.before.Of(token), 4), Fixed(prediction.after.Of(token), 4)}, tokens.CellsOf(token)));
    }
    std::cout << "\n"
              << (rows.size() == 1 ? "none " : "") << (grew ? "likelier" : "less likely") << " in the second run\n";
    if (rows.size() > 1) PrintColumns(rows, "rrrl");
  }
}

/// The cells of a line about a changed weight. Positions are those of the first run.
Cells CellsOf(const CellChange& cell, const TokenTexts& names) {
  return {Term(double{cell.change}), std::to_string(cell.query.a), std::to_string(cell.key.a),
          "“" + TextAt(names, cell.query.a) + "” → “" + TextAt(names, cell.key.a) + "”"};
}

void PrintHeads(const std::vector<CellChange>& heads, const TokenTexts& names, std::optional<Index> top) {
  std::cout << "\nthe weight of each head that changes most, at positions of the first run\n\n";
  std::vector<float> changes;
  for (const CellChange& cell : heads) changes.push_back(cell.change);
  std::vector<Cells> rows = {{"head", "change", "query", "key", "query → key"}};
  for (const Index place : LargestOf(changes, top.value_or(static_cast<Index>(heads.size())))) {
    const CellChange& cell = heads[static_cast<std::size_t>(place)];
    rows.push_back(
        Line({std::to_string(cell.head.layer) + "." + std::to_string(cell.head.head)}, CellsOf(cell, names)));
  }
  PrintColumns(rows, "rrrrl");
}

void PrintDifference(const Compared& compared, const TokenTexts& names, Index top) {
  std::cout << "\n"
            << NameOfHead(compared.head->layer, compared.head->head)
            << ": the weights that change most, at positions of the first run\n\n";
  const auto count = static_cast<Index>(compared.pairs.size());
  std::vector<Cells> rows = {{"change", "query", "key", "query → key"}};
  for (const Index place : LargestOf(compared.difference.values(), top)) {
    const auto pair = [&](Index i) { return compared.pairs[static_cast<std::size_t>(i)]; };
    const float change = compared.difference.values()[static_cast<std::size_t>(place)];
    rows.push_back(CellsOf({*compared.head, pair(place / count), pair(place % count), change}, names));
  }
  PrintColumns(rows, "rrrl");
}

}  // namespace

void Print(const Compared& compared, const RunInput& first, const RunInput& second, const OutputTokens& tokens,
           std::optional<Index> top) {
  const TokenTexts names = first.Names();
  PrintAlignment(compared, names, second.Names(), top);
  if (compared.prediction) PrintPrediction(*compared.prediction, names, tokens, top.value_or(kShownTokens));
  if (!compared.heads.empty()) PrintHeads(compared.heads, names, top);
  if (compared.head && !compared.pairs.empty()) PrintDifference(compared, names, top.value_or(kShownTerms));
}

namespace {

nlohmann::ordered_json PairToJson(const TokenPair& pair) { return {pair.a, pair.b}; }

std::vector<JsonObject> MoversOf(const PredictionChange& prediction, const OutputTokens& tokens, Index top, bool grew) {
  std::vector<JsonObject> list;
  for (const std::int32_t token : Movers(prediction, top, grew)) {
    JsonObject& json = list.emplace_back(tokens.JsonOf(token));
    json.AddNumber("before", static_cast<float>(prediction.before.Of(token)));
    json.AddNumber("after", static_cast<float>(prediction.after.Of(token)));
    json.AddNumber("log_change", prediction.log_changes[static_cast<std::size_t>(token)]);
  }
  return list;
}

JsonObject PredictionOf(const PredictionChange& prediction, const OutputTokens& tokens, Index top) {
  JsonObject json;
  json.Add("at", PairToJson(prediction.at));
  json.AddObjects("likelier", MoversOf(prediction, tokens, top, true));
  json.AddObjects("less_likely", MoversOf(prediction, tokens, top, false));
  return json;
}

std::vector<JsonObject> ChangesOf(const std::vector<CellChange>& heads) {
  std::vector<JsonObject> list;
  for (const CellChange& cell : heads) {
    JsonObject& json = list.emplace_back();
    json.Add("layer", cell.head.layer);
    json.Add("head", cell.head.head);
    json.AddNumber("change", cell.change);
    json.Add("query", PairToJson(cell.query));
    json.Add("key", PairToJson(cell.key));
  }
  return list;
}

}  // namespace

JsonObject ToJson(const Compared& compared, const RunInput& first, const RunInput& second, const OutputTokens& tokens,
                  std::optional<Index> top) {
  JsonObject json;
  json.AddObject("first", JsonOf(first));
  json.AddObject("second", JsonOf(second));
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const TokenPair& pair : compared.pairs) pairs.push_back(PairToJson(pair));
  json.Add("pairs", pairs);
  const std::vector<float> divergences(compared.divergences.begin(), compared.divergences.end());
  json.AddNumbers("divergences", divergences);
  if (compared.prediction)
    json.AddObject("prediction", PredictionOf(*compared.prediction, tokens, top.value_or(kShownTokens)));
  if (!compared.head) {
    json.AddObjects("heads", ChangesOf(compared.heads));
    return json;
  }
  json.Add("layer", compared.head->layer);
  json.Add("head", compared.head->head);
  json.AddRows("difference", compared.difference.view<2>());
  return json;
}

}  // namespace headlens::cli
