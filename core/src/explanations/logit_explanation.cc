// SPDX-License-Identifier: Apache-2.0
/// Logits as sums over the parts of a model.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "explanations/run_head.h"
#include "headlens/explanation.h"

namespace headlens {

using explanations::PartProducts;
using explanations::ProjectParts;
using explanations::RunHead;
using models::Run;

namespace {

/// Throws kUnsupported unless the logits are linear in the normalised stream.
void RequireLinearLogits(const Run& run) {
  models::RequireLogits(*run.model);
  if (!run.model->parameters.head->transform) return;
  throw Error(ErrorCode::kUnsupported,
              {"the logits of this ", run.info().family,
               " model are no sum over its parts: there is a layer with an activation between the stream and them"});
}

void Expect(const char* name, Index value, Index end) {
  if (value < 0 || value >= end) throw ValueError(Fragment::Name(name), value, {"0 to ", end - 1});
}

Index LogitRows(const Run& run) { return run.model->parameters.head->first_row_only ? 1 : run.length(); }

/// The bias of the logits, or empty.
std::span<const float> LogitBias(const Run& run) {
  const DeviceTensor& bias = run.model->parameters.head->bias;
  return bias.size() > 0 ? run.OnHost(bias).values() : run.model->decoder().bias();
}

/// The products of the parts of the streams at `positions` with the rows `labels` of a matrix [logits, D].
PartProducts ProductsOf(const Run& run, const LinearWeights& weights, std::span<const float> all_biases,
                        std::span<const std::int32_t> labels, std::span<const std::int32_t> positions) {
  const Tensor w({static_cast<Index>(labels.size()), weights.in_features()});
  std::vector<float> bias;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    Expect("tokens", labels[n], weights.out_features());
    const auto row = static_cast<Index>(n);
    weights.CopyRow(labels[n], {w.view<2>().at(row), static_cast<std::size_t>(weights.in_features())});
    if (!all_biases.empty()) bias.push_back(all_biases[static_cast<std::size_t>(labels[n])]);
  }
  return ProjectParts(run, {run.info().layers}, positions, w.view<2>(), bias);
}

/// Adds the products of the second matrix of a classifier.
void AddSecond(const Run& run, std::span<const std::int32_t> labels, PartProducts& products) {
  const models::Head& head = *run.model->parameters.head;
  const auto [begin, end] = models::SecondTokens(*run.model, run.length());
  std::vector<std::int32_t> positions(static_cast<std::size_t>(end - begin));
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(begin));
  // Both matrices have the same parts, so that the second has a bias of zeros where only the first has one.
  const std::span<const float> bias = head.second->bias();
  const std::vector<float> zeros(bias.empty() ? run.model->decoder().bias().size() : 0);
  const PartProducts other = ProductsOf(run, *head.second, bias.empty() ? zeros : bias, labels, positions);
  const Index size = products.values.size();
  for (Index i = 0; i < size; ++i) {
    double sum = 0.0;
    for (Index n = 0; n < end - begin; ++n) sum += double{other.values.data()[n * size + i]};
    float& value = products.values.data()[i];
    value = static_cast<float>(double{head.factor} * (double{value} + sum / static_cast<double>(end - begin)));
  }
}

/// Takes what a head writes at some tokens through the norms, then their mean, or each on its own with `each`, through
/// a matrix without its bias.
Tensor WrittenLogits(const RunHead& head, Index begin, Index count, const LinearWeights& weights, bool each) {
  Tensor rows = head.Written(begin, count);
  explanations::ScaleByNorms(head.run(), {head.layer(), head.is_cross()}, begin, rows);
  if (!each) rows = models::MeanRow(rows.view<2>());
  Tensor logits({rows.shape()[0], weights.out_features()});
  head.backend().Linear(rows.view<2>(), weights, logits.view<2>());
  head.backend().Finish();
  const std::span<const float> bias = weights.bias();
  for (Index n = 0; n < logits.shape()[0] && !bias.empty(); ++n)
    for (std::size_t token = 0; token < bias.size(); ++token) logits.view<2>().at(n)[token] -= bias[token];
  return logits;
}

}  // namespace

LogitExplanation Contributions(const ModelAttention& attention, Index position, std::span<const std::int32_t> tokens) {
  const Run& run = attention.run();
  RequireLinearLogits(run);
  Expect("position", position, LogitRows(run));
  const bool reads_more = run.model->parameters.head->second != nullptr;
  const auto at = static_cast<std::int32_t>(position);
  PartProducts products = ProductsOf(run, run.model->decoder(), LogitBias(run), tokens, {&at, 1});
  if (reads_more) AddSecond(run, tokens, products);
  LogitExplanation explanation;
  const DeviceView<const float, 2> stream = run.hidden.view<2>();
  const Tensor logits = reads_more ? models::ClassLogitsOf(*run.model, stream)
                                   : models::UncappedLogitsOf(*run.model, Rows(stream, position, 1));
  for (const std::int32_t token : tokens) explanation.logits.push_back(logits.data()[token]);
  explanation.terms = std::move(products.values)
                          .Reshaped({static_cast<Index>(products.parts.size()), static_cast<Index>(tokens.size())});
  explanation.parts = std::move(products.parts);
  return explanation;
}

Tensor HeadLogits(const ModelAttention& attention, Index layer, Index of_head, Index row_begin, Index row_end,
                  AttentionPart part) {
  const Run& run = attention.run();
  const RunHead head(run, layer, of_head, part);
  RequireLinearLogits(run);
  if (part == AttentionPart::kEncoder)
    throw Error(ErrorCode::kUnsupported, "heads of the encoder add nothing directly to the decoder's logits");
  models::CheckRows(row_begin, row_end, LogitRows(run));
  Tensor logits = WrittenLogits(head, row_begin, row_end - row_begin, run.model->decoder(), /*each=*/true);
  const models::Head& classifier = *run.model->parameters.head;
  if (!classifier.second || row_begin == row_end) return logits;
  const auto [begin, end] = models::SecondTokens(*run.model, run.length());
  const Tensor other = WrittenLogits(head, begin, end - begin, *classifier.second, /*each=*/false);
  for (Index i = 0; i < logits.size(); ++i) logits.data()[i] = classifier.factor * (logits.data()[i] + other.data()[i]);
  return logits;
}

Tensor LensLogits(const ModelAttention& attention, Index layer, Index row_begin, Index row_end) {
  const Run& run = attention.run();
  models::RequireLogits(*run.model);
  if (layer < 0 || layer > run.info().layers) throw ValueError("`layer`", layer, {"0 to ", run.info().layers});
  models::CheckRows(row_begin, row_end, LogitRows(run));
  const DeviceView<const float, 2> stream = run.StreamBefore(layer).view<2>();
  if (run.model->parameters.head->first_row_only && row_end > row_begin)
    return models::ClassLogitsOf(*run.model, stream);
  return models::LogitsOf(*run.model, Rows(stream, row_begin, row_end - row_begin));
}

double LogSumExp(std::span<const float> logits) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
  for (const float logit : logits) largest = std::max(largest, double{logit});
  for (const float logit : logits) sum += std::exp(double{logit} - largest);
  return largest + std::log(sum);
}

std::vector<double> Probabilities(std::span<const float> logits) {
  const double all = LogSumExp(logits);
  std::vector<double> probabilities;
  for (const float logit : logits) probabilities.push_back(std::exp(double{logit} - all));
  return probabilities;
}

std::vector<TokenLogit> ExtremeLogits(std::span<const float> logits, Index count, bool largest) {
  const auto comes_first = [largest](const TokenLogit& a, const TokenLogit& b) {
    if (std::isnan(a.logit) || std::isnan(b.logit)) return std::isnan(b.logit) && !std::isnan(a.logit);
    return largest ? a.logit > b.logit : a.logit < b.logit;
  };
  std::vector<TokenLogit> extremes;  // in their order
  for (std::size_t token = 0; token < logits.size() && count > 0; ++token) {
    const TokenLogit next{static_cast<std::int32_t>(token), logits[token]};
    if (std::ssize(extremes) < count) {
      extremes.push_back(next);
    } else if (!comes_first(next, extremes.back())) {
      continue;
    }
    std::size_t place = extremes.size() - 1;
    for (; place > 0 && comes_first(next, extremes[place - 1]); --place) extremes[place] = extremes[place - 1];
    extremes[place] = next;
  }
  return extremes;
}

}  // namespace headlens
