// SPDX-License-Identifier: Apache-2.0
/// Value zeroing: how much the output changes without the values of a token.
#include "base/checks.h"
#include "headlens/attribution.h"
#include "heads/summands.h"

namespace headlens {
namespace {

/// 1 − cos(x, y), from 0 to 2, and exactly 0 for equal vectors. A vector of zeros has no direction; its distance from
/// every other vector is 1.
double CosineDistance(std::span<const double> x, std::span<const double> y) {
  const double xx = metrics::Dot(x, x), yy = metrics::Dot(y, y), norms = std::sqrt(xx * yy);
  if (norms > 0.0) return std::clamp(1.0 - metrics::Dot(x, y) / norms, 0.0, 2.0);
  return xx == yy ? 0.0 : 1.0;
}

void NormalizeRows(const Matrix& matrix) {
  for (Index i = 0; i < matrix.rows(); ++i) {
    double sum = 0.0;
    for (const double x : matrix.row(i)) sum += x;
    for (double& x : matrix.row(i)) x = sum > 0.0 ? x / sum : 0.0;
  }
}

/// Runs `forward` and converts its output [T, D] to fp64.
void Run(const ZeroedForward& forward, Index zeroed, const Tensor& output, const Matrix& result) {
  forward(zeroed, output.view<2>());
  for (Index i = 0; i < output.size(); ++i) result.values()[static_cast<std::size_t>(i)] = double{output.data()[i]};
  metrics::ExpectFinite({"output without token ", zeroed}, output.values());
}

}  // namespace

Matrix ValueZeroing(Index queries, Index keys, Index width, const ZeroedForward& forward) {
  const Tensor output({queries, width});
  Matrix whole(queries, width), without(queries, width), context(queries, keys);
  Run(forward, -1, output, whole);
  for (Index j = 0; j < keys; ++j) {
    Run(forward, j, output, without);
    for (Index i = 0; i < queries; ++i) context(i, j) = CosineDistance(whole.row(i), without.row(i));
  }
  NormalizeRows(context);
  return context;
}

Matrix ValueZeroing(const AttentionSummands& layer, std::span<const float> bias, View<const float, 2> residual) {
  metrics::Summands summands(layer);
  const Index queries = summands.queries(), width = summands.width();
  if (!bias.empty()) ExpectSizes("`bias`", {static_cast<Index>(bias.size())}, {width});
  if (residual) ExpectSizes("`residual`", SizesOf(residual), {queries, width});
  Matrix output(queries, width), without(1, width), context(queries, summands.keys());
  for (Index i = 0; i < queries; ++i) {
    for (Index e = 0; summands.IsValid(i) && e < width; ++e) {
      if (!bias.empty()) output(i, e) += double{bias[static_cast<std::size_t>(e)]};
      if (residual) output(i, e) += double{residual(i, e)};
    }
  }
  metrics::ExpectFinite("bias or residual", output.values());
  for (Index j = 0; j < summands.keys(); ++j) {
    if (!summands.SeekKey(j)) continue;
    for (Index i = 0; i < queries; ++i) summands.AddSummand(i, 1.0, output.row(i));
  }
  for (Index j = 0; j < summands.keys(); ++j) {
    if (!summands.SeekKey(j)) continue;
    for (Index i = 0; i < queries; ++i) {
      std::copy_n(output.row(i).begin(), width, without.row(0).begin());
      summands.AddSummand(i, -1.0, without.row(0));
      context(i, j) = CosineDistance(output.row(i), without.row(0));
    }
  }
  NormalizeRows(context);
  return context;
}

}  // namespace headlens
