// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <string_view>

#include "cli/explanations.h"
#include "cli/table.h"

namespace headlens::cli {
namespace {

std::string_view NameOfStage(std::string_view stage) {
  if (stage == "weights") return "weight";
  return stage.substr(0, stage.find('_'));  // capped_scores is the capped score of one cell
}

/// The values of a row at one of its steps.
const std::vector<float>& StepOf(const RowExplanation& row, std::string_view stage) {
  return std::find_if(row.steps.begin(), row.steps.end(), [&](const ScoreStep& step) { return step.stage == stage; })
      ->values;
}

/// "layer 3, head 2", behind the name of an attention other than the decoder's
std::string TitleOf(const ExplainedPlace& place) {
  const std::string head = NameOfHead(place.layer, place.head);
  return place.part == AttentionPart::kDecoder ? head : std::string(NameOf(place.part)) + ", " + head;
}

}  // namespace

PlaceNames NamesOf(const RunInput& input, AttentionPart part) {
  return {part == AttentionPart::kEncoder ? input.SourceNames() : input.Names(),
          part == AttentionPart::kDecoder ? input.Names() : input.SourceNames()};
}

std::string NameOfHead(Index layer, Index head) {
  return "layer " + std::to_string(layer) + ", head " + std::to_string(head);
}

std::string NameOfToken(Index at, const std::vector<std::string>& names) {
  return std::to_string(at) + " “" + names[static_cast<std::size_t>(at)] + "”";
}

std::string NameOf(const StreamPart& part) {
  std::string name(ToString(part.kind));
  std::replace(name.begin(), name.end(), '_', '-');
  if (part.layer >= 0) name += " " + std::to_string(part.layer);
  if (part.head >= 0) name += "." + std::to_string(part.head);
  return name;
}

void Print(const CellExplanation& cell, const ExplainedPlace& place, const PlaceNames& names,
           std::optional<Index> top) {
  std::cout << TitleOf(place) << ": query " << NameOfToken(*place.query, names.queries) << ", key "
            << NameOfToken(*place.key, names.keys);
  if (place.against) std::cout << ", against key " << NameOfToken(*place.against, names.keys);
  std::cout << "\n";
  const std::span<const float> terms = cell.terms.values();
  PrintSum(place.against ? "difference of scores" : "score", cell.score, terms);
  const auto key_parts = static_cast<Index>(cell.key_parts.size());
  PrintTerms(terms, top.value_or(kShownTerms), {"query part", "key part"}, [&](Index i) {
    return Cells{NameOf(cell.query_parts[static_cast<std::size_t>(i / key_parts)]),
                 NameOf(cell.key_parts[static_cast<std::size_t>(i % key_parts)])};
  });
  std::cout << "\n";
  std::vector<Cells> steps;
  for (const ScoreStep& step : cell.steps)
    steps.push_back({std::string(NameOfStage(step.stage)), Fixed(step.values[0], step.stage == "weights" ? 4 : 3)});
  PrintColumns(steps, "ll");
}

namespace {

/// The keys that the query sees, or the `top` of them with the largest weights.
std::vector<Index> KeysOf(const RowExplanation& row, std::optional<Index> top) {
  std::vector<Index> keys;
  const std::vector<float>& weights = StepOf(row, "weights");
  const std::vector<float>& masked = StepOf(row, "masked_scores");
  for (const Index key : LargestOf(weights, static_cast<Index>(weights.size())))
    if (masked[static_cast<std::size_t>(key)] != -INFINITY) keys.push_back(key);
  if (!top) std::sort(keys.begin(), keys.end());
  if (top && *top < static_cast<Index>(keys.size())) keys.resize(static_cast<std::size_t>(*top));
  return keys;
}

}  // namespace

void Print(const RowExplanation& row, const ExplainedPlace& place, const PlaceNames& names, std::optional<Index> top) {
  std::cout << TitleOf(place) << ": scores of query " << NameOfToken(*place.query, names.queries) << "\n\n";
  const View<const float, 2> by_key = row.by_key.view<2>();
  std::vector<float> parts(row.key_parts.size());
  std::vector<Cells> rows = {{"key", "score", "weight", "term", "strongest key part", "token"}};
  for (const Index key : KeysOf(row, top)) {
    const auto at = static_cast<std::size_t>(key);
    for (std::size_t a = 0; a < parts.size(); ++a) parts[a] = by_key(static_cast<Index>(a), key);
    const auto strongest = static_cast<std::size_t>(LargestOf(parts, 1)[0]);
    rows.push_back({std::to_string(key), Fixed(row.scores[at], 3), Fixed(StepOf(row, "weights")[at], 4),
                    Term(parts[strongest]), NameOf(row.key_parts[strongest]), names.keys[at]});
  }
  PrintColumns(rows, "rrrrll");
}

void Print(const OutputExplanation& output, const ExplainedPlace& place, const PlaceNames& names,
           std::optional<Index> top) {
  std::cout << TitleOf(place) << ": what it writes for query " << NameOfToken(*place.query, names.queries) << "\n";
  double square = 0.0;
  for (const float x : output.written.values()) square += double{x} * double{x};
  const std::span<const float> terms = output.terms.values();
  PrintSum("length", std::sqrt(square), terms);
  const Index keys = output.terms.shape()[1];
  PrintTerms(terms, top.value_or(kShownTerms), {"part", "key", "token"}, [&](Index i) {
    const Index key = i % keys;
    return Cells{NameOf(output.parts[static_cast<std::size_t>(i / keys)]), std::to_string(key),
                 names.keys[static_cast<std::size_t>(key)]};
  });
}

void Print(const HeadSources& sources, const ExplainedPlace& place, const PlaceNames& names, std::optional<Index> top) {
  std::cout << TitleOf(place) << " over " << names.queries.size() << " tokens";
  if (place.part == AttentionPart::kCross) std::cout << " and " << names.keys.size() << " of the source";
  std::cout << "\n";
  const auto print = [&](const char* title, const std::vector<StreamPart>& parts, const std::vector<double>& sums) {
    std::cout << "\n" << title << "\n";
    const std::vector<float> terms(sums.begin(), sums.end());
    PrintTerms(terms, top.value_or(kShownTerms), {"part"},
               [&](Index a) { return Cells{NameOf(parts[static_cast<std::size_t>(a)])}; });
  };
  print("queries: what raises the scores of the keys that are looked at", sources.query_parts, sources.query);
  print("keys: what raises the scores of the keys that are looked at", sources.key_parts, sources.key);
  print("values: what the head copies", sources.value_parts, sources.value);
}

}  // namespace headlens::cli
