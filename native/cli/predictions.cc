// SPDX-License-Identifier: Apache-2.0
#include "cli/predictions.h"

#include <iostream>

#include "cli/explanations.h"
#include "cli/table.h"

namespace headlens::cli {
namespace {

constexpr Index kShownInLayer = 3;

}  // namespace

Prediction::Prediction(const Tensor& row)
    : logits(row.values().begin(), row.values().end()), probabilities(Probabilities(logits)) {}

namespace {

void PrintTokens(const Prediction& now, const OutputTokens& tokens, Index top) {
  std::vector<Cells> rows = {Line({"probability", "logit"}, tokens.Titles())};
  for (const auto& [token, logit] : ExtremeLogits(now.logits, top))
    rows.push_back(Line({Fixed(now.Of(token), 4), Fixed(double{logit}, 3)}, tokens.CellsOf(token)));
  PrintColumns(rows, "rrrl");
}

/// The most probable tokens of either run, those of the changed one first.
void PrintComparison(const Prediction& before, const Prediction& now, const OutputTokens& tokens, Index top) {
  std::vector<bool> is_shown(now.logits.size());
  std::vector<Cells> rows = {Line({"before", "after"}, tokens.Titles())};
  for (const Prediction* run : {&now, &before})
    for (const auto& [token, logit] : ExtremeLogits(run->logits, top)) {
      if (is_shown[static_cast<std::size_t>(token)]) continue;
      is_shown[static_cast<std::size_t>(token)] = true;
      rows.push_back(Line({Fixed(before.Of(token), 4), Fixed(now.Of(token), 4)}, tokens.CellsOf(token)));
    }
  PrintColumns(rows, "rrrl");
}

void PrintLens(const std::vector<Prediction>& lens, const OutputTokens& tokens, Index top) {
  std::cout << "\nlogit lens: predictions of the stream before each layer\n\n";
  std::vector<Cells> rows = {{"layer", "tokens"}};
  for (std::size_t layer = 0; layer < lens.size(); ++layer) {
    std::string likely;
    for (const auto& [token, logit] : ExtremeLogits(lens[layer].logits, top))
      likely += (likely.empty() ? "" : "  ") + tokens.NameOf(token) + " " + Fixed(lens[layer].Of(token), 4);
    rows.push_back({layer + 1 < lens.size() ? std::to_string(layer) : "end", likely});
  }
  PrintColumns(rows, "rl");
}

void PrintContributions(const Predicted& predicted, const OutputTokens& tokens, Index top) {
  const LogitExplanation& all = *predicted.contributions;
  for (std::size_t n = 0; n < predicted.tokens.size(); ++n) {
    std::vector<float> terms;
    for (std::size_t a = 0; a < all.parts.size(); ++a)
      terms.push_back(all.terms.view<2>()(static_cast<Index>(a), static_cast<Index>(n)));
    std::cout << "\n“" << tokens.NameOf(predicted.tokens[n]) << "”: ";
    PrintSum("logit", double{all.logits[n]}, terms);
    PrintTerms(terms, top, {"part"}, [&](Index a) { return Cells{NameOf(all.parts[static_cast<std::size_t>(a)])}; });
  }
}

void PrintHead(const Predicted& predicted, const OutputTokens& tokens, Index top) {
  const auto [layer, head] = *predicted.head;
  std::cout << (predicted.part == AttentionPart::kCross ? "\ncross " : "\nhead ") << layer << "." << head
            << " adds to the logits, with the norms behind it frozen\n";
  for (const bool largest : {true, false}) {
    std::cout << "\n" << (largest ? "likelier" : "less likely") << "\n";
    std::vector<Cells> rows;
    for (const auto& [token, logit] : ExtremeLogits(predicted.head_logits, top, largest))
      rows.push_back(Line({Term(double{logit})}, tokens.CellsOf(token)));
    PrintColumns(rows, "rrl");
  }
}

}  // namespace

void Print(const Predicted& predicted, const RunInput& input, const OutputTokens& tokens, std::optional<Index> top) {
  std::cout << "position " << NameOfToken(predicted.position, input.Names()) << "\n\n";
  const Index shown = top.value_or(kShownTokens);
  if (predicted.before) {
    PrintComparison(*predicted.before, predicted.now, tokens, shown);
  } else {
    PrintTokens(predicted.now, tokens, shown);
  }
  if (!predicted.lens.empty()) PrintLens(predicted.lens, tokens, top.value_or(kShownInLayer));
  if (predicted.contributions) PrintContributions(predicted, tokens, top.value_or(kShownTerms));
  if (predicted.head) PrintHead(predicted, tokens, shown);
}

namespace {

std::vector<JsonObject> TokensOf(const Prediction& prediction, const OutputTokens& tokens, Index top) {
  std::vector<JsonObject> list;
  for (const auto& [token, logit] : ExtremeLogits(prediction.logits, top)) {
    JsonObject& json = list.emplace_back(tokens.JsonOf(token));
    json.AddNumber("logit", logit);
    json.AddNumber("probability", static_cast<float>(prediction.Of(token)));
  }
  return list;
}

std::vector<JsonObject> LensOf(const std::vector<Prediction>& lens, const OutputTokens& tokens, Index top) {
  std::vector<JsonObject> list(lens.size());
  for (std::size_t layer = 0; layer < lens.size(); ++layer) {
    list[layer].Add("layer", layer);
    list[layer].AddObjects("predictions", TokensOf(lens[layer], tokens, top));
  }
  return list;
}

JsonObject ContributionsOf(const Predicted& predicted, const OutputTokens& tokens) {
  const LogitExplanation& all = *predicted.contributions;
  std::vector<JsonObject> logits;
  for (std::size_t n = 0; n < predicted.tokens.size(); ++n)
    logits.emplace_back(tokens.JsonOf(predicted.tokens[n])).AddNumber("logit", all.logits[n]);
  JsonObject json;
  json.AddObjects("logits", logits);
  json.Add("parts", ToJson(all.parts));
  json.AddRows("terms", all.terms.view<2>());
  return json;
}

JsonObject HeadOf(const Predicted& predicted, const OutputTokens& tokens, Index top) {
  JsonObject json;
  if (predicted.part == AttentionPart::kCross) json.Add("attention", NameOf(predicted.part));
  json.Add("layer", predicted.head->layer);
  json.Add("head", predicted.head->head);
  for (const bool largest : {true, false}) {
    std::vector<JsonObject> list;
    for (const auto& [token, logit] : ExtremeLogits(predicted.head_logits, top, largest))
      list.emplace_back(tokens.JsonOf(token)).AddNumber("logit", logit);
    json.AddObjects(largest ? "likelier" : "less_likely", list);
  }
  return json;
}

}  // namespace

JsonObject ToJson(const Predicted& predicted, const RunInput& input, const OutputTokens& tokens,
                  std::optional<Index> top) {
  const Index shown = top.value_or(kShownTokens);
  JsonObject json = JsonOf(input);
  json.Add("position", predicted.position);
  json.AddObjects("predictions", TokensOf(predicted.now, tokens, shown));
  if (predicted.before) json.AddObjects("before", TokensOf(*predicted.before, tokens, shown));
  if (!predicted.lens.empty()) json.AddObjects("lens", LensOf(predicted.lens, tokens, top.value_or(kShownInLayer)));
  if (predicted.contributions) json.AddObject("contributions", ContributionsOf(predicted, tokens));
  if (predicted.head) json.AddObject("head", HeadOf(predicted, tokens, shown));
  return json;
}

}  // namespace headlens::cli
