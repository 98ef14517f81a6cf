// SPDX-License-Identifier: Apache-2.0
#include "explanations/parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/dot.h"
#include "headlens/matrix.h"
#include "models/embedding.h"

namespace headlens::explanations {

using models::EmbeddingParts;
using models::EmbeddingPartsOf;
using models::Layer;
using models::LoadedModel;
using models::Parameters;

double FrozenFactor(const BlockForm& form, const float* x, Index width) {
  const auto count = static_cast<double>(width);
  double mean = 0.0, square = 0.0;
  for (Index e = 0; form.norm == NormKind::kLayerNorm && e < width; ++e) mean += double{x[e]} / count;
  for (Index e = 0; e < width; ++e) square += (double{x[e]} - mean) * (double{x[e]} - mean) / count;
  return 1.0 / std::sqrt(square + double{form.norm_eps});
}

namespace {

/// The norm that makes x̂ of the stream at a place, or null.
const Norm* NormAt(const LoadedModel& model, const StreamPlace& place) {
  const Parameters& p = model.parameters;
  const bool is_final = place.layer == model.architecture.info.layers;
  if (!is_final && !model.architecture.block.norm_first) return nullptr;
  const Layer* layer = is_final ? nullptr : &p.layers[static_cast<std::size_t>(place.layer)];
  const Norm& norm = is_final ? p.final_norm : place.is_cross ? layer->cross_attention_norm : layer->attention_norm;
  return norm ? &norm : nullptr;
}

/// The parts of the streams at a place, in their order.
std::vector<StreamPart> PartsAt(const LoadedModel& model, const StreamPlace& place, bool has_projection_bias) {
  const Parameters& p = model.parameters;
  const Norm* norm = NormAt(model, place);
  bool has_biases = static_cast<bool>(p.patches);
  bool has_shifts = p.embedding_norm.bias.size() > 0 || (norm && norm->bias.size() > 0);
  std::vector<StreamPart> parts = {{PartKind::kToken}};
  if (p.positions.size() > 0) parts.push_back({PartKind::kPosition});
  if (p.segments) parts.push_back({PartKind::kSegment});
  const auto add_heads = [&](PartKind kind, Index l, const LinearWeights& o) {
    for (Index h = 0; h < model.architecture.info.heads; ++h) parts.push_back({kind, l, h});
    has_biases = has_biases || !o.bias().empty();
  };
  for (Index l = 0; l < place.layer + (place.is_cross ? 1 : 0); ++l) {
    const Layer& weights = p.layers[static_cast<std::size_t>(l)];
    add_heads(PartKind::kHead, l, *weights.o);
    has_shifts = has_shifts || (!model.architecture.block.norm_first && weights.attention_norm.bias.size() > 0);
    if (l == place.layer) break;
    if (weights.cross_o) add_heads(PartKind::kCross, l, *weights.cross_o);
    parts.push_back({PartKind::kFeedForward, l});
    has_biases = has_biases || !weights.feed_forward.down->bias().empty();
  }
  if (has_biases) parts.push_back({PartKind::kBias});
  if (has_shifts) parts.push_back({PartKind::kNorm});
  if (has_projection_bias) parts.push_back({PartKind::kProjection});
  return parts;
}

Tensor Sum(Tensor a, const Tensor& b) {
  for (std::size_t i = 0; i < b.values().size(); ++i) a.values()[i] += b.values()[i];
  return a;
}

/// The streams of some tokens of a run.
class Streams {
 public:
  Streams(const Run& run, std::span<const std::int32_t> tokens) : run_(run), tokens_(tokens) {}

  /// The rows of the tokens, out of rows of all tokens.
  Tensor RowsOf(const DeviceTensor& all) const {
    const Tensor& from = run_.OnHost(all);
    const Index width = from.shape()[1];
    Tensor rows({static_cast<Index>(tokens_.size()), width});
    Index n = 0;
    for (const std::int32_t token : tokens_)
      std::copy_n(from.view<2>().at(Index{token}), width, rows.view<2>().at(n++));
    return rows;
  }

  /// y = x Wᵀ + b on the host.
  Tensor Linear(View<const float, 2> x, const LinearWeights& weights) const {
    Tensor y({x.shape[0], weights.out_features()});
    run_.model->backend.Linear(x, weights, y.view<2>());
    run_.model->backend.Finish();
    return y;
  }

  /// The streams with what the heads of a layer add to them.
  Tensor BehindHeads(Index layer) const {
    return Sum(RowsOf(run_.StreamBefore(layer)), Linear(RowsOf(run_.At(layer).kept.heads).view<2>(), *At(layer).o));
  }

  /// The sums of the stream and what is added to it, before the norms that follow: of the layer's heads, of its heads
  /// that look at a source, in models that have them, and of its feed-forward network.
  std::vector<Tensor> Sums(Index layer) const {
    const Layer& weights = At(layer);
    const models::Kept& kept = run_.At(layer).kept;
    std::vector<Tensor> sums;
    sums.push_back(BehindHeads(layer));
    if (weights.cross_o) {
      sums.push_back(Sum(Normalized(sums.back(), weights.attention_norm),
                         Linear(RowsOf(kept.cross_heads).view<2>(), *weights.cross_o)));
    }
    sums.push_back(Sum(Normalized(sums.back(), weights.cross_o ? weights.cross_attention_norm : weights.attention_norm),
                       RowsOf(kept.feed_forward)));
    return sums;
  }

 private:
  const Layer& At(Index layer) const { return run_.model->parameters.layers[static_cast<std::size_t>(layer)]; }

  Tensor Normalized(const Tensor& x, const Norm& norm) const {
    Tensor y = x.Clone();
    Normalize(run_.model->backend, run_.model->architecture.block, norm, y.view<2>(), y.view<2>());
    return y;
  }

  const Run& run_;
  std::span<const std::int32_t> tokens_;
};

/// Follows the map from the stream that it reads back to the embeddings. What a map makes of x̂ = norm(x) it makes of x
/// with the norm's scale folded in, times a number of each token; so that no part is ever taken through a norm.
class Projector {
 public:
  Projector(const Run& run, std::span<const std::int32_t> tokens, View<const float, 2> w, PartProducts& products)
      : run_(run),
        model_(*run.model),
        form_(run.model->architecture.block),
        tokens_(tokens),
        streams_(run, tokens),
        count_(static_cast<Index>(tokens.size())),
        width_(w.shape[1]),
        outputs_(w.shape[0]),
        map_(outputs_, width_),
        factors_(tokens.size(), 1.0),
        parts_(products.parts),
        values_(products.values.view<3>()),
        next_(std::ssize(products.parts)) {
    for (Index o = 0; o < outputs_; ++o)
      for (Index e = 0; e < width_; ++e) map_(o, e) = double{w(o, e)};
    Pack();
  }

  /// Goes back from the stream at a place, and fills in all products but those of the projection's bias.
  void Back(const StreamPlace& place) {
    while (next_ > 0 && parts_[static_cast<std::size_t>(next_ - 1)].kind >= PartKind::kBias) --next_;
    std::fill_n(values_.data, values_.shape[0] * values_.strides[0], 0.0f);
    Index layer = place.layer;
    const Tensor stream = place.is_cross ? streams_.BehindHeads(layer) : streams_.RowsOf(run_.StreamBefore(layer));
    if (const Norm* norm = NormAt(model_, place)) PassNorm(*norm, stream);
    if (place.is_cross) PassHeads(layer, &stream);
    while (layer-- > 0) PassLayer(layer);
    PassEmbedding();
  }

 private:
  void Pack() {
    Tensor rounded({outputs_, width_});
    std::copy(map_.values().begin(), map_.values().end(), rounded.data());
    packed_ = model_.backend.PackLinear(rounded.view<2>(), {});
    rounded_ = std::move(rounded);
  }

  Tensor Linear(View<const float, 2> x, const LinearWeights& weights) const { return streams_.Linear(x, weights); }

  /// Goes back over a norm whose inputs at the tokens were `x`.
  void PassNorm(const Norm& norm, const Tensor& x) {
    const bool centers = form_.norm == NormKind::kLayerNorm;
    if (norm.bias.size() > 0) AddConstant(run_.OnHost(norm.bias).values(), PartKind::kNorm);
    const std::span<const float> scale = run_.OnHost(norm.weight).values();
    for (Index o = 0; o < outputs_; ++o) {
      double mean = 0.0;
      for (Index e = 0; e < width_; ++e) {
        map_(o, e) *= double{scale[static_cast<std::size_t>(e)]};
        mean += map_(o, e) / static_cast<double>(width_);
      }
      for (Index e = 0; centers && e < width_; ++e) map_(o, e) -= mean;
    }
    for (Index n = 0; n < count_; ++n)
      factors_[static_cast<std::size_t>(n)] *= FrozenFactor(form_, x.view<2>().at(n), width_);
    Pack();
  }

  Index IndexOf(PartKind kind) const {
    Index part = 0;
    while (parts_[static_cast<std::size_t>(part)].kind != kind) ++part;
    return part;
  }

  /// Takes a vector that is the same for all tokens through the map. Adds it to a part, each token's factor before it.
  std::vector<double> AddConstant(std::span<const float> vector, PartKind kind) {
    std::vector<double> products;
    const Index part = IndexOf(kind);
    for (Index o = 0; o < outputs_; ++o) {
      const double product = products.emplace_back(Dot(map_.row(o).data(), vector.data(), vector.size()));
      for (Index n = 0; n < count_; ++n)
        values_(n, part, o) += static_cast<float>(factors_[static_cast<std::size_t>(n)] * product);
    }
    return products;
  }

  /// Goes back over a layer: first its feed-forward network, then its heads.
  void PassLayer(Index layer) {
    const Layer& weights = model_.parameters.layers[static_cast<std::size_t>(layer)];
    const models::Kept& kept = run_.At(layer).kept;
    std::vector<Tensor> sums;
    if (!form_.norm_first) {
      sums = streams_.Sums(layer);
      PassNorm(weights.feed_forward_norm, sums.back());
    }
    // A norm of what the network adds has been applied to these rows.
    AddRows(streams_.RowsOf(kept.feed_forward),
            weights.feed_forward_output_norm ? std::span<const float>() : weights.feed_forward.down->bias());
    if (weights.cross_o) {
      if (!form_.norm_first) PassNorm(weights.cross_attention_norm, sums[1]);
      AddHeads(streams_.RowsOf(kept.cross_heads), *weights.cross_o);
    }
    PassHeads(layer, sums.data());
  }

  /// Goes back over the heads of a layer. `sum` is that of the stream and what they add, which a norm that follows
  /// needs.
  void PassHeads(Index layer, const Tensor* sum) {
    const Layer& weights = model_.parameters.layers[static_cast<std::size_t>(layer)];
    const Tensor heads = streams_.RowsOf(run_.At(layer).kept.heads);
    if (!form_.norm_first) PassNorm(weights.attention_norm, *sum);
    if (const Norm& norm = weights.attention_output_norm) {
      AddNormedHeads(norm, heads, *weights.o);
    } else {
      AddHeads(heads, *weights.o);
    }
  }

  /// Adds the heads of a layer whose sum goes through a norm before it is added to the stream.
  void AddNormedHeads(const Norm& norm, const Tensor& heads, const LinearWeights& o) {
    Matrix map(outputs_, width_);
    std::ranges::copy(map_.values(), map.values().begin());
    std::vector<double> factors = factors_;
    PassNorm(norm, Linear(heads.view<2>(), o));
    AddHeads(heads, o);
    map_ = std::move(map);
    factors_ = std::move(factors);
    Pack();
  }

  /// Adds the part before those that are there already. Its rows at the tokens are `rows`, less a bias that is in them.
  void AddRows(const Tensor& rows, std::span<const float> bias = {}) {
    Add(Linear(rows.view<2>(), *packed_), 0, 1, AddBias(bias));
  }

  std::vector<double> AddBias(std::span<const float> bias) {
    return bias.empty() ? std::vector<double>() : AddConstant(bias, PartKind::kBias);
  }

  /// Adds a part whose product for token n is row first + n · step of `products`, less what is constant in it.
  void Add(const Tensor& products, Index first, Index step, const std::vector<double>& constant) {
    --next_;
    for (Index n = 0; n < count_; ++n)
      for (Index o = 0; o < outputs_; ++o) {
        const double less = constant.empty() ? 0.0 : constant[static_cast<std::size_t>(o)],
                     product{products.view<2>()(first + n * step, o)};
        values_(n, next_, o) = static_cast<float>(factors_[static_cast<std::size_t>(n)] * (product - less));
      }
  }

  /// Adds the heads of a layer, the last one first, as everything is collected on the way back.
  void AddHeads(const Tensor& z, const LinearWeights& o) {
    const Index heads = run_.info().heads;
    const std::vector<double> constant = AddBias(o.bias());
    // Either every head's vector is taken through W_O and then the map, or the map is taken through W_O once for all
    // tokens. The second way has to unpack W_O, which takes as long as some rows of a product.
    constexpr Index kUnpacking = 16;
    if (count_ * heads < outputs_ + kUnpacking) {
      const Tensor written = ThroughOutput(z, o);
      for (Index h = heads; h-- > 0;) Add(written, h, heads, constant);
    } else {
      const Tensor read = BackThroughOutput(o);
      for (Index h = heads; h-- > 0;) Add(OfHead(z, read, h), 0, 1, {});
    }
  }

  /// W (W_O^h z_h + b_O) for each token and head: [tokens · H, outputs].
  Tensor ThroughOutput(const Tensor& z, const LinearWeights& o) const {
    const Index heads = run_.info().heads, d = run_.info().head_dim;
    Tensor apart({count_ * heads, heads * d});
    std::fill(apart.values().begin(), apart.values().end(), 0.0f);
    for (Index n = 0; n < count_; ++n)
      for (Index h = 0; h < heads; ++h)
        std::copy_n(z.view<2>().at(n, h * d), d, apart.view<2>().at(n * heads + h, h * d));
    return Linear(Linear(apart.view<2>(), o).view<2>(), *packed_);
  }

  /// W W_O [outputs, H·d].
  Tensor BackThroughOutput(const LinearWeights& o) const {
    const Index inner = o.in_features();
    Tensor matrix({width_, inner});
    for (Index e = 0; e < width_; ++e) o.CopyRow(e, {matrix.view<2>().at(e), static_cast<std::size_t>(inner)});
    const View<const float, 2> transposed{matrix.data(), {inner, width_}, {1, inner}};
    return Linear(rounded_.view<2>(), *model_.backend.PackLinear(transposed, {}));
  }

  /// W W_O^h z_h for each token, where `read` is W W_O.
  Tensor OfHead(const Tensor& z, const Tensor& read, Index h) const {
    const Index d = run_.info().head_dim, inner = read.shape()[1];
    const View<const float, 2> of_head{read.view<2>().at(0, h * d), {outputs_, d}, {inner, 1}};
    return Linear({z.view<2>().at(0, h * d), {count_, d}, {inner, 1}}, *model_.backend.PackLinear(of_head, {}));
  }

  void PassEmbedding() {
    const EmbeddingParts parts = EmbeddingPartsOf(model_, run_.request->input(), tokens_);
    if (const Norm& norm = model_.parameters.embedding_norm) {
      Tensor sum = parts.token.Clone();
      for (const Tensor* other : {&parts.position, &parts.segment}) sum = Sum(std::move(sum), *other);
      PassNorm(norm, sum);
    }
    if (parts.segment.size() > 0) AddRows(parts.segment);
    if (parts.position.size() > 0) AddRows(parts.position);
    AddRows(parts.token);
    if (parts.bias.size() == 0) return;
    const Tensor products = Linear(parts.bias.view<2>(), *packed_);
    const Index bias = IndexOf(PartKind::kBias);
    for (Index n = 0; n < count_; ++n)
      for (Index o = 0; o < outputs_; ++o)
        values_(n, bias, o) +=
            static_cast<float>(factors_[static_cast<std::size_t>(n)] * double{products.view<2>()(n, o)});
  }

  const Run& run_;
  const LoadedModel& model_;
  const BlockForm& form_;
  std::span<const std::int32_t> tokens_;
  const Streams streams_;
  Index count_, width_, outputs_;
  Matrix map_;                             // [outputs, D], with the scales of the norms that it passed
  Tensor rounded_;                         // the same
  std::unique_ptr<LinearWeights> packed_;  // the same
  std::vector<double> factors_;            // of each token: the norms' divisions
  const std::vector<StreamPart>& parts_;
  View<float, 3> values_;  // [tokens, parts, outputs]
  Index next_;             // the part that was filled in last
};

}  // namespace

Tensor ProjectStreams(const Run& run, Index layer, std::span<const std::int32_t> tokens,
                      const LinearWeights& projection) {
  const View<const float, 2> stream = run.OnHost(run.StreamBefore(layer)).view<2>();
  const auto count = static_cast<Index>(tokens.size());
  const Tensor rows({count, stream.shape[1]});
  Tensor projected({count, projection.out_features()});
  for (Index n = 0; n < count; ++n)
    std::copy_n(stream.at(Index{tokens[static_cast<std::size_t>(n)]}), stream.shape[1], rows.view<2>().at(n));
  const Backend& backend = run.model->backend;
  if (const Norm* norm = NormAt(*run.model, {layer}))
    Normalize(backend, run.model->architecture.block, *norm, rows.view<2>(), rows.view<2>());
  backend.Linear(rows.view<2>(), projection, projected.view<2>());
  backend.Finish();
  return projected;
}

PartProducts ProjectParts(const Run& run, const StreamPlace& place, std::span<const std::int32_t> tokens,
                          View<const float, 2> w, std::span<const float> bias) {
  run.RequireParts();
  PartProducts products;
  products.parts = PartsAt(*run.model, place, !bias.empty());
  const auto parts = static_cast<Index>(products.parts.size()), count = static_cast<Index>(tokens.size());
  products.values = Tensor({count, parts, w.shape[0]});
  Projector(run, tokens, w, products).Back(place);
  for (Index n = 0; n < count; ++n) std::copy(bias.begin(), bias.end(), products.values.view<3>().at(n, parts - 1));
  return products;
}

namespace {

/// rows ← γ ∘ (rows − mean) / σ, with the statistics of the rows x of whole streams.
void ScaleByNorm(const Run& run, const Norm& norm, const Tensor& x, const Tensor& rows) {
  const BlockForm& form = run.model->architecture.block;
  const Index width = rows.shape()[1];
  const std::span<const float> scale = run.OnHost(norm.weight).values();
  for (Index n = 0; n < rows.shape()[0]; ++n) {
    const double factor = FrozenFactor(form, x.view<2>().at(n), width);
    float* row = rows.view<2>().at(n);
    double mean = 0.0;
    for (Index e = 0; form.norm == NormKind::kLayerNorm && e < width; ++e)
      mean += double{row[e]} / static_cast<double>(width);
    for (Index e = 0; e < width; ++e)
      row[e] = static_cast<float>((double{row[e]} - mean) * factor * double{scale[static_cast<std::size_t>(e)]});
  }
}

}  // namespace

void ScaleByNorms(const Run& run, const StreamPlace& written, Index first, const Tensor& rows) {
  const Parameters& p = run.model->parameters;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows.shape()[0]));
  std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(first));
  const Streams streams(run, tokens);
  for (Index l = written.layer; !run.model->architecture.block.norm_first && l < run.info().layers; ++l) {
    const Layer& layer = p.layers[static_cast<std::size_t>(l)];
    const std::vector<Tensor> sums = streams.Sums(l);
    if (l > written.layer || !written.is_cross) ScaleByNorm(run, layer.attention_norm, sums.front(), rows);
    if (layer.cross_o) ScaleByNorm(run, layer.cross_attention_norm, sums[1], rows);
    ScaleByNorm(run, layer.feed_forward_norm, sums.back(), rows);
  }
  if (p.final_norm) ScaleByNorm(run, p.final_norm, streams.RowsOf(run.hidden), rows);
}

}  // namespace headlens::explanations
