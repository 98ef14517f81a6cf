// SPDX-License-Identifier: Apache-2.0
#include "models/parts.h"

#include <algorithm>
#include <cmath>

#include "base/dot.h"
#include "headlens/matrix.h"
#include "models/embedding.h"

namespace headlens::models {
namespace {

/// The number by which a norm multiplies a row [width] of its input: 1 / √(variance + eps), or 1 / √(mean square +
/// eps).
double FrozenFactor(const BlockForm& form, const float* x, Index width) {
  const auto count = static_cast<double>(width);
  double mean = 0.0, square = 0.0;
  for (Index e = 0; form.norm == NormKind::kLayerNorm && e < width; ++e) mean += double{x[e]} / count;
  for (Index e = 0; e < width; ++e) square += (double{x[e]} - mean) * (double{x[e]} - mean) / count;
  return 1.0 / std::sqrt(square + double{form.norm_eps});
}

/// Follows the map from the stream that it reads back to the embeddings. What a map makes of x̂ = norm(x) it makes of x
/// with the norm's scale folded in, times a number of each token; so that no part is ever taken through a norm.
class Projector {
 public:
  Projector(const Run& run, std::span<const std::int32_t> tokens, View<const float, 2> w, std::span<const float> bias)
      : run_(run),
        model_(*run.model),
        form_(run.model->architecture.block),
        tokens_(tokens),
        count_(static_cast<Index>(tokens.size())),
        width_(w.shape[1]),
        outputs_(w.shape[0]),
        map_(outputs_, width_),
        factors_(tokens.size(), 1.0),
        biases_(count_, outputs_),
        shifts_(count_, outputs_),
        projection_(bias.begin(), bias.end()) {
    for (Index o = 0; o < outputs_; ++o)
      for (Index e = 0; e < width_; ++e) map_(o, e) = double{w(o, e)};
    Pack();
  }

  /// Goes back from the stream before layer `layer`.
  PartProducts Back(Index layer) {
    const Parameters& p = model_.parameters;
    if (form_.norm_first || layer == run_.info().layers) {
      const Norm& norm =
          layer < run_.info().layers ? p.layers[static_cast<std::size_t>(layer)].attention_norm : p.final_norm;
      if (norm) PassNorm(norm, RowsOf(run_.OnHost(run_.StreamBefore(layer))));
    }
    while (layer-- > 0) PassLayer(layer);
    PassEmbedding();
    return Collected();
  }

 private:
  /// What the map makes of one part, [tokens, outputs].
  struct Product {
    StreamPart part;
    Tensor values;
  };

  void Pack() {
    Tensor rounded({outputs_, width_});
    for (std::size_t i = 0; i < rounded.values().size(); ++i)
      rounded.values()[i] = static_cast<float>(map_.values()[i]);
    packed_ = model_.backend.PackLinear(rounded.view<2>(), {});
  }

  /// The rows of the tokens, out of rows of all tokens.
  Tensor RowsOf(const Tensor& all) const {
    const Index width = all.shape()[1];
    Tensor rows({count_, width});
    for (Index n = 0; n < count_; ++n) std::copy_n(all.view<2>().at(Token(n)), width, rows.view<2>().at(n));
    return rows;
  }

  Index Token(Index n) const { return tokens_[static_cast<std::size_t>(n)]; }

  /// y = x Wᵀ + b on the host.
  Tensor Linear(View<const float, 2> x, const LinearWeights& weights) const {
    Tensor y({x.shape[0], weights.out_features()});
    model_.backend.Linear(x, weights, y.view<2>());
    model_.backend.Finish();
    return y;
  }

  /// Goes back over a norm whose inputs at the tokens were `x`.
  void PassNorm(const Norm& norm, const Tensor& x) {
    const bool centers = form_.norm == NormKind::kLayerNorm;
    if (norm.bias.size() > 0) AddConstant(run_.OnHost(norm.bias).values(), shifts_, has_shifts_);
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

  /// sums[n] += factor_n · W vector. Returns W vector.
  std::vector<double> AddConstant(std::span<const float> vector, const Matrix& sums, bool& has_sums) {
    has_sums = true;
    std::vector<double> product;
    for (Index o = 0; o < outputs_; ++o) {
      product.push_back(Dot(map_.row(o).data(), vector.data(), vector.size()));
      for (Index n = 0; n < count_; ++n) sums(n, o) += factors_[static_cast<std::size_t>(n)] * product.back();
    }
    return product;
  }

  /// Goes back over a layer: first its feed-forward network, then its heads.
  void PassLayer(Index layer) {
    const Layer& weights = model_.parameters.layers[static_cast<std::size_t>(layer)];
    const LayerRun& run = run_.At(layer);
    const Tensor changes = RowsOf(run_.OnHost(run.kept.feed_forward)), heads = RowsOf(run_.OnHost(run.kept.heads));
    Tensor attended;  // norm(x + attention), and its sum before that norm
    if (!form_.norm_first) {
      const Tensor sum = Sum(RowsOf(run_.OnHost(run.stream)), Linear(heads.view<2>(), *weights.o));
      attended = sum.Clone();
      Normalize(model_.backend, form_, weights.attention_norm, attended.view<2>(), attended.view<2>());
      PassNorm(weights.feed_forward_norm, Sum(std::move(attended), changes));
      attended = sum.Clone();
    }
    AddRows({PartKind::kFeedForward, layer}, changes, weights.feed_forward.down->bias());
    if (!form_.norm_first) PassNorm(weights.attention_norm, attended);
    AddHeads(layer, heads, *weights.o);
  }

  static Tensor Sum(Tensor a, const Tensor& b) {
    for (std::size_t i = 0; i < b.values().size(); ++i) a.values()[i] += b.values()[i];
    return a;
  }

  /// Adds the part whose rows at the tokens are `rows`, less a bias that is in them.
  void AddRows(const StreamPart& part, const Tensor& rows, std::span<const float> bias = {}) {
    Tensor values = Linear(rows.view<2>(), *packed_);
    const std::vector<double> constant = PassBias(bias);
    for (Index n = 0; n < count_; ++n) Scale(n, values.view<2>().at(n), constant);
    products_.push_back({part, std::move(values)});
  }

  /// Adds a bias to the part of the biases, and returns what the map makes of it: empty when there is none.
  std::vector<double> PassBias(std::span<const float> bias) {
    return bias.empty() ? std::vector<double>() : AddConstant(bias, biases_, has_biases_);
  }

  /// values ← factor_n · (values − constant)
  void Scale(Index n, float* values, const std::vector<double>& constant) const {
    for (Index o = 0; o < outputs_; ++o) {
      const double less = constant.empty() ? 0.0 : constant[static_cast<std::size_t>(o)];
      values[o] = static_cast<float>(factors_[static_cast<std::size_t>(n)] * (double{values[o]} - less));
    }
  }

  /// Adds the heads of a layer, the last one first, as everything is collected on the way back.
  void AddHeads(Index layer, const Tensor& z, const LinearWeights& o) {
    const Index heads = run_.info().heads;
    // Either every head's vector is taken through W_O and then the map, or the map is taken through W_O once for all
    // tokens. The second way has to unpack W_O, which takes as long as some rows of a product.
    constexpr Index kUnpacking = 16;
    const bool is_few = count_ * heads < outputs_ + kUnpacking;
    const std::vector<double> constant = is_few ? PassBias(o.bias()) : std::vector<double>();
    if (!is_few) PassBias(o.bias());
    const Tensor written = is_few ? ThroughOutput(z, o) : Tensor(), read = is_few ? Tensor() : BackThroughOutput(o);
    for (Index h = heads; h-- > 0;) {
      Tensor values = is_few ? Tensor({count_, outputs_}) : OfHead(z, read, h);
      for (Index n = 0; n < count_; ++n) {
        float* to = values.view<2>().at(n);
        if (is_few) std::copy_n(written.view<2>().at(n * heads + h), outputs_, to);
        Scale(n, to, constant);
      }
      products_.push_back({{PartKind::kHead, layer, h}, std::move(values)});
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
    Tensor matrix({width_, inner}), map({outputs_, width_});
    for (Index e = 0; e < width_; ++e) o.CopyRow(e, {matrix.view<2>().at(e), static_cast<std::size_t>(inner)});
    for (std::size_t i = 0; i < map.values().size(); ++i) map.values()[i] = static_cast<float>(map_.values()[i]);
    const View<const float, 2> transposed{matrix.data(), {inner, width_}, {1, inner}};
    return Linear(map.view<2>(), *model_.backend.PackLinear(transposed, {}));
  }

  /// W W_O^h z_h for each token, where `read` is W W_O.
  Tensor OfHead(const Tensor& z, const Tensor& read, Index h) const {
    const Index d = run_.info().head_dim, inner = read.shape()[1];
    const View<const float, 2> of_head{read.view<2>().at(0, h * d), {outputs_, d}, {inner, 1}};
    return Linear({z.view<2>().at(0, h * d), {count_, d}, {inner, 1}}, *model_.backend.PackLinear(of_head, {}));
  }

  void PassEmbedding() {
    const Parameters& p = model_.parameters;
    const EmbeddingParts parts = EmbeddingPartsOf(model_, run_.request->input(), tokens_);
    if (p.embedding_norm) {
      Tensor sum = parts.token.Clone();
      for (const Tensor* other : {&parts.position, &parts.segment})
        if (other->size() > 0) sum = Sum(std::move(sum), *other);
      PassNorm(p.embedding_norm, sum);
    }
    if (parts.segment.size() > 0) AddRows({PartKind::kSegment}, parts.segment);
    if (parts.position.size() > 0) AddRows({PartKind::kPosition}, parts.position);
    AddRows({PartKind::kToken}, parts.token);
    if (!p.patches) return;
    // CLS is the only token without the bias of patches.
    const std::vector<double> constant = PassBias(p.patches->bias());
    for (Index n = 0; n < count_; ++n) {
      for (Index o = 0; Token(n) == 0 && o < outputs_; ++o)
        biases_(n, o) -= factors_[static_cast<std::size_t>(n)] * constant[static_cast<std::size_t>(o)];
    }
  }

  /// All products in the order of their parts.
  PartProducts Collected() {
    PartProducts all;
    std::reverse(products_.begin(), products_.end());
    for (const Product& product : products_) all.parts.push_back(product.part);
    const auto add = [&](PartKind kind, bool is_there) {
      if (is_there) all.parts.push_back({kind});
    };
    add(PartKind::kBias, has_biases_);
    add(PartKind::kNorm, has_shifts_);
    add(PartKind::kProjection, !projection_.empty());
    all.values = Tensor({count_, static_cast<Index>(all.parts.size()), outputs_});
    for (Index n = 0; n < count_; ++n) {
      float* to = all.values.view<3>().at(n);
      for (const Product& product : products_) to = std::copy_n(product.values.view<2>().at(n), outputs_, to);
      const auto add_values = [&](const std::span<const double> values) {
        for (const double value : values) *to++ = static_cast<float>(value);
      };
      if (has_biases_) add_values(biases_.row(n));
      if (has_shifts_) add_values(shifts_.row(n));
      add_values(projection_);
    }
    return all;
  }

  const Run& run_;
  const LoadedModel& model_;
  const BlockForm& form_;
  std::span<const std::int32_t> tokens_;
  Index count_, width_, outputs_;
  Matrix map_;                             // [outputs, D], with the scales of the norms that it passed
  std::unique_ptr<LinearWeights> packed_;  // the same
  std::vector<double> factors_;            // of each token: the norms' divisions
  Matrix biases_, shifts_;                 // [tokens, outputs]
  bool has_biases_ = false, has_shifts_ = false;
  std::vector<double> projection_;
  std::vector<Product> products_;  // the last part first
};

}  // namespace

PartProducts ProjectParts(const Run& run, Index layer, std::span<const std::int32_t> tokens, View<const float, 2> w,
                          std::span<const float> bias) {
  run.RequireParts();
  return Projector(run, tokens, w, bias).Back(layer);
}

void ScaleByFinalNorm(const Run& run, Index first, const Tensor& rows) {
  const BlockForm& form = run.model->architecture.block;
  const Norm& norm = run.model->parameters.final_norm;
  if (!norm) return;
  const Index width = rows.shape()[1];
  const std::span<const float> scale = run.OnHost(norm.weight).values();
  for (Index n = 0; n < rows.shape()[0]; ++n) {
    const double factor = FrozenFactor(form, run.OnHost(run.hidden).view<2>().at(first + n), width);
    float* row = rows.view<2>().at(n);
    double mean = 0.0;
    for (Index e = 0; form.norm == NormKind::kLayerNorm && e < width; ++e)
      mean += double{row[e]} / static_cast<double>(width);
    for (Index e = 0; e < width; ++e)
      row[e] = static_cast<float>((double{row[e]} - mean) * factor * double{scale[static_cast<std::size_t>(e)]});
  }
}

}  // namespace headlens::models
