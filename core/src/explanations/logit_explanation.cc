// SPDX-License-Identifier: Apache-2.0
/// Logits as sums over the parts of a model.
#include <algorithm>
#include <cmath>
#include <limits>

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
  if (run.model->parameters.head->second) {
    throw Error(ErrorCode::kUnsupported, {"the logits of this ", run.info().family,
                                          " model are not those of one token: its classifier reads several"});
  }
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

}  // namespace

LogitExplanation Contributions(const ModelAttention& attention, Index position, std::span<const std::int32_t> tokens) {
  const Run& run = attention.run();
  RequireLinearLogits(run);
  Expect("position", position, LogitRows(run));
  const LinearWeights& decoder = run.model->decoder();
  const std::span<const float> all_biases = LogitBias(run);
  const Tensor w({static_cast<Index>(tokens.size()), decoder.in_features()});
  std::vector<float> bias;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    Expect("tokens", tokens[n], decoder.out_features());
    const auto row = static_cast<Index>(n);
    decoder.CopyRow(tokens[n], {w.view<2>().at(row), static_cast<std::size_t>(decoder.in_features())});
    if (!all_biases.empty()) bias.push_back(all_biases[static_cast<std::size_t>(tokens[n])]);
  }
  const auto at = static_cast<std::int32_t>(position);
  PartProducts products = ProjectParts(run, run.info().layers, {&at, 1}, w.view<2>(), bias);
  LogitExplanation explanation;
  const Tensor logits = models::UncappedLogitsOf(*run.model, Rows(run.hidden.view<2>(), position, 1));
  for (const std::int32_t token : tokens) explanation.logits.push_back(logits.data()[token]);
  explanation.terms = std::move(products.values)
                          .Reshaped({static_cast<Index>(products.parts.size()), static_cast<Index>(tokens.size())});
  explanation.parts = std::move(products.parts);
  return explanation;
}

Tensor HeadLogits(const ModelAttention& attention, Index layer, Index of_head, Index row_begin, Index row_end) {
  const Run& run = attention.run();
  const RunHead head(run, layer, of_head);
  RequireLinearLogits(run);
  models::CheckRows(row_begin, row_end, LogitRows(run));
  const Index count = row_end - row_begin;
  const Tensor written = head.Written(row_begin, count);
  explanations::ScaleByFinalNorm(run, row_begin, written);
  const LinearWeights& decoder = run.model->decoder();
  Tensor logits({count, decoder.out_features()});
  head.backend().Linear(written.view<2>(), decoder, logits.view<2>());
  head.backend().Finish();
  const std::span<const float> bias = decoder.bias();  // it is not the head's
  for (Index n = 0; n < count && !bias.empty(); ++n)
    for (std::size_t token = 0; token < bias.size(); ++token) logits.view<2>().at(n)[token] -= bias[token];
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
