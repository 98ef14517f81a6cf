// SPDX-License-Identifier: Apache-2.0
/// Scores and outputs of heads as sums over the parts of residual streams.
#include "headlens/explanation.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "explanations/run_head.h"

namespace headlens {

using explanations::DirectionsOf;
using explanations::HeadRows;
using explanations::PartProducts;
using explanations::ReplacedValues;
using explanations::RunHead;
using explanations::Stacked;

std::string_view ToString(PartKind kind) {
  static constexpr std::string_view kNames[] = {"token",        "position", "segment", "head",      "cross",
                                                "feed_forward", "bias",     "norm",    "projection"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string ToString(const StreamPart& part) {
  std::string name(ToString(part.kind));
  for (const Index place : {part.layer, part.head}) {
    if (place < 0) continue;
    name += '.';
    name += std::to_string(place);
  }
  return name;
}

namespace {

/// The stages of a row after the scaled scores.
constexpr std::pair<std::string_view, View<float, 4> AttentionResults::*> kSteps[] = {
    {"capped_scores", &AttentionResults::capped_scores},
    {"biased_scores", &AttentionResults::biased_scores},
    {"masked_scores", &AttentionResults::masked_scores},
};

struct RowStages {
  std::vector<float> scaled;     // [S]
  std::vector<ScoreStep> steps;  // S values each
};

RowStages StagesOf(const RunHead& head, Index query) {
  RowStages stages;
  const auto row = [&](std::vector<float>& values) {
    values.resize(static_cast<std::size_t>(head.key_tokens()));
    return DenseView(values.data(), std::array<Index, 4>{1, 1, 1, head.key_tokens()});
  };
  const auto step = [&](std::string_view name) { return row(stages.steps.emplace_back(ScoreStep{name, {}}).values); };
  AttentionResults results;
  results.scaled_scores = row(stages.scaled);
  for (const auto& [name, stage] : kSteps) results.*stage = step(name);
  results.weights = step("weights");
  head.Fill(query, 1, results);
  return stages;
}

/// a bᵀ · factor on the host, for rows a [m, d] and b [n, d]: [m, n].
Tensor Products(const Backend& backend, View<const float, 2> a, View<const float, 2> b, float factor) {
  Tensor products({a.shape[0], b.shape[0]});
  backend.Linear(a, *backend.PackLinear(b, {}), products.view<2>());
  backend.Finish();
  for (float& product : products.values()) product *= factor;
  return products;
}

/// [tokens, parts] → [parts, tokens]
Tensor Transposed(const float* x, Index tokens, Index parts) {
  Tensor y({parts, tokens});
  for (Index n = 0; n < tokens; ++n)
    for (Index a = 0; a < parts; ++a) y.view<2>()(a, n) = x[n * parts + a];
  return y;
}

View<const float, 2> AsRows(const Tensor& x) {
  return DenseView<const float, 2>(x.data(), {x.shape()[0] * x.shape()[1], x.shape()[2]});
}

std::vector<std::int32_t> AllTokens(Index length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

/// The parts of a token's query or key as they are multiplied: d outputs of its products, from output `first` on.
Tensor SideOf(const RunHead& head, const PartProducts& products, std::int32_t token, Index n, Index first,
              void (RunHead::*turn)(std::span<const std::int32_t>, const View<float, 3>&) const) {
  const View<float, 3> all = products.values.view<3>();
  const Index parts = all.shape[1], d = head.width();
  Tensor rows({1, parts, d});
  for (Index a = 0; a < parts; ++a) std::copy_n(all.at(n, a, first), d, rows.view<3>().at(0, a));
  (head.*turn)({&token, 1}, rows.view<3>());
  return std::move(rows).Reshaped({parts, d});
}

/// The parts of a query, and those of a key, less those of another key when there is one: [parts, d] each.
struct CellSides {
  std::vector<StreamPart> query_parts, key_parts;
  Tensor query, key;
};

CellSides SidesOf(const RunHead& head, std::int32_t query, const std::vector<std::int32_t>& keys) {
  std::vector<std::int32_t> tokens = keys;
  std::vector<float> bias;
  HeadRows rows = head.k();
  if (!head.is_cross()) {
    tokens.push_back(query);
    rows = Stacked(std::move(rows), head.q(), bias);
  }
  PartProducts of_keys = head.ProjectKeys(tokens, rows), of_query;
  if (head.is_cross()) of_query = head.ProjectQueries({&query, 1}, head.q());
  CellSides sides;
  sides.query = head.is_cross() ? SideOf(head, of_query, query, 0, 0, &RunHead::AsQueries)
                                : SideOf(head, of_keys, query, std::ssize(keys), head.width(), &RunHead::AsQueries);
  sides.key = SideOf(head, of_keys, keys[0], 0, 0, &RunHead::AsKeys);
  if (keys.size() > 1) {
    const Tensor other = SideOf(head, of_keys, keys[1], 1, 0, &RunHead::AsKeys);
    for (std::size_t i = 0; i < other.values().size(); ++i) sides.key.values()[i] -= other.values()[i];
  }
  sides.query_parts = head.is_cross() ? std::move(of_query.parts) : of_keys.parts;
  sides.key_parts = std::move(of_keys.parts);
  return sides;
}

/// Explains the score of a cell, less that of another key of its row when there is one.
CellExplanation Explain(const ModelAttention& attention, const MapCell& cell, std::optional<Index> against) {
  const RunHead head(attention.run(), cell.layer, cell.head, cell.part);
  head.CheckQuery(cell.query);
  head.CheckKey("key", cell.key);
  std::vector<std::int32_t> keys = {static_cast<std::int32_t>(cell.key)};
  if (against) {
    head.CheckKey("against", *against);
    keys.push_back(static_cast<std::int32_t>(*against));
  }
  CellSides sides = SidesOf(head, static_cast<std::int32_t>(cell.query), keys);
  CellExplanation explanation;
  explanation.query_parts = std::move(sides.query_parts);
  explanation.key_parts = std::move(sides.key_parts);
  explanation.terms = Products(head.backend(), sides.query.view<2>(), sides.key.view<2>(), head.scale());
  const RowStages row = StagesOf(head, cell.query);
  const auto at = [&](const std::vector<float>& values) {
    const float value = values[static_cast<std::size_t>(cell.key)];
    return against ? value - values[static_cast<std::size_t>(*against)] : value;
  };
  explanation.score = double{at(row.scaled)};
  for (const ScoreStep& step : row.steps) explanation.steps.push_back({step.stage, {at(step.values)}});
  return explanation;
}

}  // namespace

CellExplanation ExplainCell(const ModelAttention& attention, const MapCell& cell) {
  return Explain(attention, cell, std::nullopt);
}

CellExplanation ExplainCell(const ModelAttention& attention, const MapCell& cell, Index against) {
  return Explain(attention, cell, against);
}

RowExplanation ExplainRow(const ModelAttention& attention, Index layer, Index of_head, Index query,
                          AttentionPart part) {
  const RunHead head(attention.run(), layer, of_head, part);
  head.CheckQuery(query);
  const auto token = static_cast<std::int32_t>(query);
  const std::vector<std::int32_t> keys = AllTokens(head.key_tokens());
  PartProducts of_query = head.ProjectQueries({&token, 1}, head.q()), of_keys = head.ProjectKeys(keys, head.k());
  head.AsQueries({&token, 1}, of_query.values.view<3>());
  head.AsKeys(keys, of_keys.values.view<3>());
  const Tensor by_cell = Products(head.backend(), AsRows(of_keys.values), Rows(head.queries(), query, 1), head.scale());
  RowStages row = StagesOf(head, query);
  RowExplanation explanation;
  explanation.scores = std::move(row.scaled);
  explanation.by_query = Products(head.backend(), AsRows(of_query.values), head.keys(), head.scale());
  explanation.by_key = Transposed(by_cell.data(), head.key_tokens(), of_keys.values.shape()[1]);
  explanation.query_parts = std::move(of_query.parts);
  explanation.key_parts = std::move(of_keys.parts);
  explanation.steps = std::move(row.steps);
  return explanation;
}

namespace {

/// x · W_V [1, D] and x · b_V [1], for a direction x [1, d].
HeadRows ThroughValues(HeadRows v, const Matrix& x, std::vector<float>& bias) {
  const Index d = v.weights.shape()[0], width = v.weights.shape()[1];
  Tensor row({1, width});
  for (Index e = 0; e < width; ++e) {
    double sum = 0.0;
    for (Index i = 0; i < d; ++i) sum += x(0, i) * double{v.weights.view<2>()(i, e)};
    row.data()[e] = static_cast<float>(sum);
  }
  if (!v.bias.empty()) {
    double sum = 0.0;
    for (Index i = 0; i < d; ++i) sum += x(0, i) * double{v.bias[static_cast<std::size_t>(i)]};
    bias = {static_cast<float>(sum)};
  }
  v.weights = std::move(row);
  v.bias = bias;
  return v;
}

/// Puts in the place of replaced values' products [keys, parts, 1] those of what the head read instead.
void ReplaceProducts(const ReplacedValues& replaced, const View<float, 3>& products) {
  const Index parts = products.shape[1];
  std::vector<double> mean(static_cast<std::size_t>(parts), 0.0);
  for (const std::int32_t token : replaced.averaged)
    for (Index a = 0; a < parts; ++a)
      mean[static_cast<std::size_t>(a)] +=
          double{products(Index{token}, a, 0)} / static_cast<double>(replaced.averaged.size());
  for (const std::int32_t token : replaced.tokens)
    for (Index a = 0; a < parts; ++a)
      products(Index{token}, a, 0) = static_cast<float>(mean[static_cast<std::size_t>(a)]);
}

}  // namespace

OutputExplanation ExplainOutput(const ModelAttention& attention, Index layer, Index of_head, Index query,
                                AttentionPart part) {
  const RunHead head(attention.run(), layer, of_head, part);
  head.CheckQuery(query);
  head.RequireOwnOutput();
  const Index keys = head.key_tokens();
  Tensor written = head.Written(query, 1);
  std::vector<float> bias;
  const HeadRows direction = ThroughValues(head.v(), head.BackThroughOutput(query, DirectionsOf(written)), bias);
  PartProducts products = head.ProjectKeys(AllTokens(keys), direction);
  ReplaceProducts(head.Replaced(), products.values.view<3>());
  const Tensor weights({1, keys});
  attention.Maps(layer, part).Map(0, of_head, {query, query + 1}, weights.view<2>());
  OutputExplanation explanation;
  explanation.terms = Transposed(products.values.data(), keys, products.values.shape()[1]);
  for (Index a = 0; a < explanation.terms.shape()[0]; ++a)
    for (Index j = 0; j < keys; ++j) explanation.terms.view<2>()(a, j) *= head.factor() * weights.data()[j];
  explanation.parts = std::move(products.parts);
  explanation.written = std::move(written).Reshaped({head.run().info().hidden_size});
  return explanation;
}

}  // namespace headlens
