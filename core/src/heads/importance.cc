// SPDX-License-Identifier: Apache-2.0
/// The importance of heads: how much a layer's output changes without them.
#include <algorithm>

#include "base/checks.h"
#include "headlens/attribution.h"
#include "heads/dense.h"
#include "heads/maps.h"

namespace headlens {
namespace {

double Dot(const View<const float, 2>& x, const View<const float, 2>& y) {
  double sum = 0.0;
  for (Index t = 0; t < x.shape[0]; ++t)
    for (Index e = 0; e < x.shape[1]; ++e) sum += double{x(t, e)} * double{y(t, e)};
  return sum;
}

/// Inner products of the heads' contributions with each other and with the output. All results follow from them.
struct Products {
  Matrix heads;                ///< [H, H]
  std::vector<double> output;  ///< [H]
  double output_square = 0.0;
};

Products ProductsOf(const View<const float, 3>& contributions, const View<const float, 2>& output) {
  metrics::ExpectElements("`contributions`", contributions);
  const Index heads = contributions.shape[0];
  if (output) ExpectSizes("`output`", SizesOf(output), {contributions.shape[1], contributions.shape[2]});
  Products products{Matrix(heads, heads), {}, output ? Dot(output, output) : 0.0};
  for (Index a = 0; a < heads; ++a) {
    const View<const float, 2> c = Slice(contributions, a);
    for (Index b = 0; b <= a; ++b) products.heads(a, b) = products.heads(b, a) = Dot(c, Slice(contributions, b));
    if (output) products.output.push_back(Dot(c, output));
  }
  if (!output) {
    for (Index a = 0; a < heads; ++a) {
      double sum = 0.0;
      for (const double x : products.heads.row(a)) sum += x;
      products.output.push_back(sum);
      products.output_square += sum;
    }
    products.output_square = std::max(products.output_square, 0.0);
  }
  metrics::ExpectFinite("the norm of a contribution", products.heads.values());
  metrics::ExpectFinite("the norm of the output", std::span(&products.output_square, 1));
  return products;
}

std::optional<double> Quotient(double x, double y) { return y > 0.0 ? std::optional(x / y) : std::nullopt; }

/// Computes the importance of each head from ‖c_h‖², ⟨c_h, out⟩ and ‖out‖².
std::vector<HeadImportance> FromProducts(std::span<const double> squares, std::span<const double> with_output,
                                         double output_square) {
  const double norm = std::sqrt(output_square);
  double norms = 0.0;
  for (const double square : squares) norms += std::sqrt(square);
  std::vector<HeadImportance> result;
  for (std::size_t h = 0; h < squares.size(); ++h) {
    const double own = std::sqrt(squares[h]);
    std::optional<double> cosine = Quotient(with_output[h], own * norm);
    if (cosine) cosine = std::clamp(*cosine, -1.0, 1.0);
    result.push_back({Quotient(own, norm), Quotient(own, norms), cosine});
  }
  return result;
}

}  // namespace

std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> contributions, View<const float, 2> output) {
  const Products products = ProductsOf(contributions, output);
  std::vector<double> squares;
  for (Index h = 0; h < products.heads.rows(); ++h) squares.push_back(products.heads(h, h));
  return FromProducts(squares, products.output, products.output_square);
}

std::vector<HeadImportance> ImportanceOfHeads(View<const float, 3> heads, View<const float, 2> out_weight,
                                              std::span<const float> bias) {
  metrics::ExpectElements("heads", heads);
  metrics::ExpectElements("`out_weight`", out_weight);
  const Index count = heads.shape[0], length = heads.shape[1], d = heads.shape[2], width = out_weight.shape[0];
  ExpectSizes("`out_weight`", SizesOf(out_weight), {width, count * d});
  if (!bias.empty()) ExpectSizes("`bias`", {static_cast<Index>(bias.size())}, {width});
  const Dense weight = ToDense(out_weight);
  std::vector<Dense> z;
  Dense output = Dense::Zero(EigenIndex(length), EigenIndex(width));
  for (Index e = 0; e < width && !bias.empty(); ++e)
    output.col(EigenIndex(e)).setConstant(double{bias[static_cast<std::size_t>(e)]});
  for (Index h = 0; h < count; ++h) {
    z.push_back(ToDense(Slice(heads, h)));
    output += Product(z.back(), weight.middleCols(EigenIndex(h * d), EigenIndex(d)).transpose());
  }
  std::vector<double> squares, with_output;
  for (Index h = 0; h < count; ++h) {
    const Dense& head = z[static_cast<std::size_t>(h)];
    const Dense part = weight.middleCols(EigenIndex(h * d), EigenIndex(d));
    const Dense gram = Product(part.transpose(), part);
    squares.push_back(std::max(Product(head, gram).cwiseProduct(head).sum(), 0.0));
    with_output.push_back(Product(output, part).cwiseProduct(head).sum());
  }
  metrics::ExpectFinite("the norm of a contribution", std::span(squares));
  return FromProducts(squares, with_output, output.squaredNorm());
}

void NormalizeImportance(std::span<double> importance) {
  metrics::ExpectFinite("importance", importance);
  const double norm = metrics::Norm(importance);
  for (double& x : importance) x = norm > 0.0 ? x / norm : 0.0;
}

std::vector<PruningStep> PruningCurve(View<const float, 3> contributions, View<const float, 2> output) {
  const Products products = ProductsOf(contributions, output);
  const Index heads = products.heads.rows();
  if (products.output_square == 0.0) return {};
  // ‖Σ_{removed} c‖², and the inner product of each head's contribution with that sum.
  double removed_square = 0.0;
  std::vector<double> with_removed(static_cast<std::size_t>(heads), 0.0);
  std::vector<bool> removed(static_cast<std::size_t>(heads), false);
  std::vector<PruningStep> curve;
  while (static_cast<Index>(curve.size()) < heads) {
    std::optional<Index> best;
    double least = 0.0;
    for (Index h = 0; h < heads; ++h) {
      if (removed[static_cast<std::size_t>(h)]) continue;
      const double square = removed_square + 2.0 * with_removed[static_cast<std::size_t>(h)] + products.heads(h, h);
      if (best && square >= least) continue;
      best = h;
      least = square;
    }
    removed[static_cast<std::size_t>(*best)] = true;
    removed_square = std::max(least, 0.0);
    for (Index h = 0; h < heads; ++h) with_removed[static_cast<std::size_t>(h)] += products.heads(*best, h);
    curve.push_back({*best, std::sqrt(removed_square / products.output_square)});
  }
  return curve;
}

}  // namespace headlens
