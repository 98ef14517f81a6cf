// SPDX-License-Identifier: Apache-2.0
#include "explanations/run_head.h"

#include <algorithm>
#include <cmath>

#include "base/dot.h"

namespace headlens::explanations {

HeadRows::HeadRows(const LinearWeights& matrix, Index head, Index head_dim)
    : weights({head_dim, matrix.in_features()}) {
  for (Index row = 0; row < head_dim; ++row) {
    matrix.CopyRow(head * head_dim + row, {weights.view<2>().at(row), static_cast<std::size_t>(matrix.in_features())});
  }
  if (matrix.bias().empty()) return;
  bias = matrix.bias().subspan(static_cast<std::size_t>(head * head_dim), static_cast<std::size_t>(head_dim));
}

HeadRows Stacked(HeadRows first, const HeadRows& second, std::vector<float>& bias) {
  Tensor both({first.weights.shape()[0] + second.weights.shape()[0], first.weights.shape()[1]});
  std::ranges::copy(second.weights.values(), std::ranges::copy(first.weights.values(), both.data()).out);
  bias.assign(first.bias.begin(), first.bias.end());
  bias.insert(bias.end(), second.bias.begin(), second.bias.end());
  first.weights = std::move(both);
  first.bias = bias;
  return first;
}

Matrix DirectionsOf(const Tensor& vectors) {
  const View<float, 2> rows = vectors.view<2>();
  Matrix directions(rows.shape[0], rows.shape[1]);
  for (Index n = 0; n < rows.shape[0]; ++n) {
    double square = 0.0;
    for (Index e = 0; e < rows.shape[1]; ++e) square += double{rows(n, e)} * double{rows(n, e)};
    for (Index e = 0; e < rows.shape[1] && square > 0.0; ++e) directions(n, e) = double{rows(n, e)} / std::sqrt(square);
  }
  return directions;
}

RunHead::RunHead(const Run& run, Index layer, Index head, AttentionPart part)
    : run_(part == AttentionPart::kEncoder ? run.Encoder() : run),
      key_run_(part == AttentionPart::kDecoder ? run : run.Encoder()),
      layer_(layer),
      head_(head),
      is_cross_(part == AttentionPart::kCross),
      maps_(is_cross_ ? run.CrossMapsOf(layer, head) : run_.MapsOf(layer, head)),
      weights_(run_.model->parameters.layers[static_cast<std::size_t>(layer)]),
      kept_(run_.At(layer).kept) {
  run_.RequireParts();
}

void RunHead::CheckToken(const char* name, Index token, Index tokens) {
  if (token >= 0 && token < tokens) return;
  throw ValueError(Fragment::Name(name), token, {"0 to ", tokens - 1});
}

/// The norm that what the heads write goes through before it is added to the stream, or null.
const Norm* RunHead::OutputNorm() const {
  return is_cross_ || !weights_.attention_output_norm ? nullptr : &weights_.attention_output_norm;
}

float RunHead::scale() const { return maps_.Problem(0, head_, {0, 0, 0, 0}).scale; }

float RunHead::factor() const {
  const AttendOptions& options = run_.request->options();
  const auto& mask = is_cross_ ? options.cross_head_mask : options.head_mask;
  return mask ? mask(layer_, head_) : 1.0f;
}

void RunHead::RequireOwnOutput() const {
  const AttendOptions& options = run_.request->options();
  const View<const std::int32_t, 2>& places = (is_cross_ ? options.cross_patches : options.patches).places;
  for (Index n = 0; n < places.shape[0]; ++n) {
    if (places(n, 0) != layer_ || places(n, 1) != head_) continue;
    throw Error(ErrorCode::kUnsupported,
                "the run replaced outputs of this head, so that what the head writes is no sum over the parts of "
                "streams");
  }
}

ReplacedValues RunHead::Replaced() const {
  const AttendOptions& options = run_.request->options();
  ReplacedValues replaced;
  if (is_cross_ || !models::ReplacesValues(options, layer_)) return replaced;
  replaced.tokens.assign(options.replaced_tokens.begin(), options.replaced_tokens.end());
  std::ranges::sort(replaced.tokens);
  const auto [again, end] = std::ranges::unique(replaced.tokens);
  replaced.tokens.erase(again, end);
  if (options.replacement == TokenReplacement::kZero) return replaced;
  const std::span<const std::uint8_t> padding = run_.request->input().padding;
  for (std::int32_t token = 0; Index{token} < key_tokens(); ++token)
    if (padding.empty() || !padding[static_cast<std::size_t>(token)]) replaced.averaged.push_back(token);
  return replaced;
}

PartProducts RunHead::ProjectQueries(std::span<const std::int32_t> tokens, const HeadRows& rows) const {
  return ProjectParts(run_, {layer_, is_cross_}, tokens, rows.weights.view<2>(), rows.bias);
}

PartProducts RunHead::ProjectKeys(std::span<const std::int32_t> tokens, const HeadRows& rows) const {
  const Index layer = is_cross_ ? key_run_.info().layers : layer_;
  return ProjectParts(key_run_, {layer}, tokens, rows.weights.view<2>(), rows.bias);
}

void RunHead::AsQueries(std::span<const std::int32_t> tokens, const View<float, 3>& x) const {
  if (is_cross_) return;
  if (const Norm& norm = weights_.query_norm) ThroughNorm(tokens, norm, *weights_.q, head_, x);
  Rotate(tokens, x);
}

void RunHead::AsKeys(std::span<const std::int32_t> tokens, const View<float, 3>& x) const {
  if (is_cross_) return;
  if (const Norm& norm = weights_.key_norm) ThroughNorm(tokens, norm, *weights_.k, group(), x);
  Rotate(tokens, x);
}

/// Takes parts x [tokens, parts, d] of head `head` of a projection through the norm that follows it, which is over the
/// width of one head or of all.
void RunHead::ThroughNorm(std::span<const std::int32_t> tokens, const Norm& norm, const LinearWeights& projection,
                          Index head, const View<float, 3>& x) const {
  const std::span<const float> scale = run_.OnHost(norm.weight).values();
  const Tensor whole = ProjectStreams(run_, layer_, tokens, projection);
  const bool is_of_head = std::ssize(scale) == width();
  const float* factors = scale.data() + (is_of_head ? 0 : head * width());
  for (Index n = 0; n < x.shape[0]; ++n) {
    const float* row = whole.view<2>().at(n, is_of_head ? head * width() : 0);
    const double division = FrozenFactor(run_.model->architecture.block, row, std::ssize(scale));
    for (Index a = 0; a < x.shape[1]; ++a)
      for (Index i = 0; i < width(); ++i)
        x(n, a, i) = static_cast<float>(double{x(n, a, i)} * division * double{factors[i]});
  }
}

void RunHead::Rotate(std::span<const std::int32_t> tokens, View<float, 3> x) const {
  const models::Rope* rope = run_.model->architecture.RopeOf(layer_);
  if (!rope) return;
  const models::RopeAngles all = models::AnglesAt(*rope, 0, run_.length(), run_.length());
  const Index half = all.cosine.shape()[1];
  const Tensor cosine({x.shape[0], half}), sine({x.shape[0], half});
  for (Index n = 0; n < x.shape[0]; ++n) {
    const Index token = tokens[static_cast<std::size_t>(n)];
    std::copy_n(all.cosine.view<2>().at(token), half, cosine.view<2>().at(n));
    std::copy_n(all.sine.view<2>().at(token), half, sine.view<2>().at(n));
  }
  x.shape[2] = rope->dim;
  backend().Rotary(x, cosine.view<2>(), sine.view<2>(), RotaryPairs::kHalf);
  backend().Finish();
}

void RunHead::Fill(Index first, Index count, const AttentionResults& results) const {
  backend().Attention(maps_.Problem(0, head_, {first, first + count}), results);
  backend().Finish();
}

/// W_O^h [D, d], with the scale of the norm that follows it, unpacked once.
const Tensor& RunHead::OutputWeights() const {
  if (output_weights_.size() > 0) return output_weights_;
  const LinearWeights& o = Output();
  const Norm* norm = OutputNorm();
  output_weights_ = Tensor({o.out_features(), width()});
  std::vector<float> row(static_cast<std::size_t>(o.in_features()));
  for (Index e = 0; e < o.out_features(); ++e) {
    o.CopyRow(e, row);
    const float scale = norm ? run_.OnHost(norm->weight).data()[e] : 1.0f;
    for (Index i = 0; i < width(); ++i)
      output_weights_.view<2>()(e, i) = scale * row[static_cast<std::size_t>(head_ * width() + i)];
  }
  return output_weights_;
}

/// The number by which the norm of the attention's output, which is an RMS norm in all models, multiplies a token's.
double RunHead::OutputFactor(Index token) const {
  if (!OutputNorm()) return 1.0;
  const LinearWeights& o = Output();
  const View<const float, 2> z = run_.OnHost(AllOutputs()).view<2>();
  const Tensor whole({1, o.out_features()});
  backend().Linear(Rows(z, token, 1), o, whole.view<2>());
  backend().Finish();
  return FrozenFactor(run_.model->architecture.block, whole.data(), o.out_features());
}

Tensor RunHead::Written(Index first, Index count) const {
  const View<float, 2> o = OutputWeights().view<2>();
  const View<const float, 2> z = outputs();
  Tensor written({count, o.shape[0]});
  for (Index n = 0; n < count; ++n) {
    const double factor = OutputFactor(first + n);
    for (Index e = 0; e < o.shape[0]; ++e)
      written.view<2>()(n, e) =
          static_cast<float>(factor * Dot(o.at(e), z.at(first + n), static_cast<std::size_t>(width())));
  }
  return written;
}

Matrix RunHead::BackThroughOutput(Index first, const Matrix& x) const {
  const View<float, 2> o = OutputWeights().view<2>();
  Matrix back(x.rows(), width());
  for (Index n = 0; n < x.rows(); ++n) {
    const double factor = OutputFactor(first + n);
    for (Index e = 0; e < o.shape[0]; ++e)
      for (Index i = 0; i < width(); ++i) back(n, i) += factor * x(n, e) * double{o(e, i)};
  }
  return back;
}

/// The columns of one head in rows of all heads.
View<const float, 2> RunHead::PartOf(const DeviceTensor& rows, Index head) const {
  const View<float, 2> all = run_.OnHost(rows).view<2>();
  return {all.at(0, head * width()), {all.shape[0], width()}, all.strides};
}

}  // namespace headlens::explanations
