// SPDX-License-Identifier: Apache-2.0
#include "heads/eigenvalues.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace headlens {
namespace {

/// Makes all elements below the first subdiagonal zero by reflections of rows and columns, which keep the eigenvalues.
void ReduceToHessenberg(Dense& h) {
  const Eigen::Index n = h.rows();
  std::vector<double> v(static_cast<std::size_t>(n));
  for (Eigen::Index k = 0; k + 2 < n; ++k) {
    double square = 0.0;
    for (Eigen::Index i = k + 1; i < n; ++i) square += (v[static_cast<std::size_t>(i)] = h(i, k)) * h(i, k);
    double& first = v[static_cast<std::size_t>(k + 1)];
    first += std::copysign(std::sqrt(square), first);
    const double twice = square + std::abs(h(k + 1, k)) * std::sqrt(square);  // half of ‖v‖²
    if (twice == 0.0) continue;
    for (Eigen::Index j = k; j < n; ++j) {
      double product = 0.0;
      for (Eigen::Index i = k + 1; i < n; ++i) product += v[static_cast<std::size_t>(i)] * h(i, j);
      for (Eigen::Index i = k + 1; i < n; ++i) h(i, j) -= product / twice * v[static_cast<std::size_t>(i)];
    }
    for (Eigen::Index i = 0; i < n; ++i) {
      double product = 0.0;
      for (Eigen::Index j = k + 1; j < n; ++j) product += h(i, j) * v[static_cast<std::size_t>(j)];
      for (Eigen::Index j = k + 1; j < n; ++j) h(i, j) -= product / twice * v[static_cast<std::size_t>(j)];
    }
    for (Eigen::Index i = k + 2; i < n; ++i) h(i, k) = 0.0;
  }
}

/// Two shifts, by their sum and product.
struct Shifts {
  double sum, product;
};

/// Finds the eigenvalues of a Hessenberg matrix from its end, which it makes smaller with each that it finds.
class FrancisQr {
 public:
  explicit FrancisQr(Dense& h) : h_(h), norm_(h.norm()) {}

  std::vector<std::complex<double>> Run() {
    Eigen::Index end = h_.rows() - 1;
    for (int steps = 0; end >= 0;) {
      const Eigen::Index begin = BlockBegin(end);
      if (end - begin < 2) {
        if (begin == end) values_.emplace_back(h_(end, end));
        if (begin < end) AddPair(begin);
        end = begin - 1;
        steps = 0;
      } else if (steps++ < kMostSteps) {
        Step(begin, end, ShiftsOf(end, steps));
      } else {
        throw Error(ErrorCode::kValue, "the eigenvalues of a head do not converge");
      }
    }
    return std::move(values_);
  }

 private:
  static constexpr int kMostSteps = 100;  // for each eigenvalue; two or three are usual

  /// The first row of the last block that no subdiagonal element couples to the rows before it.
  Eigen::Index BlockBegin(Eigen::Index end) const {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    Eigen::Index begin = end;
    for (; begin > 0; --begin) {
      const double around = std::abs(h_(begin - 1, begin - 1)) + std::abs(h_(begin, begin));
      if (std::abs(h_(begin, begin - 1)) <= kEpsilon * (around > 0.0 ? around : norm_)) break;
    }
    return begin;
  }

  /// The eigenvalues of the 2 × 2 block at `i`.
  void AddPair(Eigen::Index i) {
    const double a = h_(i, i), d = h_(i + 1, i + 1), product = h_(i, i + 1) * h_(i + 1, i);
    const double half = (a - d) / 2.0, square = half * half + product, root = std::sqrt(std::abs(square));
    if (square < 0.0) {
      values_.emplace_back(d + half, root);
      values_.emplace_back(d + half, -root);
      return;
    }
    const double far = half + std::copysign(root, half);  // the sum of two numbers of one sign
    values_.emplace_back(d + far);
    values_.emplace_back(far == 0.0 ? d : d - product / far);
  }

  /// The eigenvalues of the last 2 × 2 block, or at times others, in case those lead in a circle.
  Shifts ShiftsOf(Eigen::Index end, int steps) const {
    if (steps % 10 == 0) {
      const double size = std::abs(h_(end, end - 1)) + std::abs(h_(end - 1, end - 2)), x = 0.75 * size + h_(end, end);
      return {2.0 * x, x * x + 0.4375 * size * size};
    }
    const double a = h_(end - 1, end - 1), d = h_(end, end);
    return {a + d, a * d - h_(end - 1, end) * h_(end, end - 1)};
  }

  /// One double step on rows and columns begin … end: the first reflection has the direction of the first column of
  /// H² − sum · H + product, and the others bring the matrix back into Hessenberg form.
  void Step(Eigen::Index begin, Eigen::Index end, const Shifts& shifts) {
    const double a = h_(begin, begin), b = h_(begin, begin + 1), c = h_(begin + 1, begin), d = h_(begin + 1, begin + 1);
    std::array<double, 3> x = {a * (a - shifts.sum) + shifts.product + b * c, c * (a + d - shifts.sum),
                               c * h_(begin + 2, begin + 1)};
    for (Eigen::Index k = begin; k < end; ++k) {
      const Eigen::Index count = std::min<Eigen::Index>(3, end - k + 1);
      Reflect(begin, end, k, count, x);
      if (k > begin)
        for (Eigen::Index i = k + 1; i < k + count; ++i) h_(i, k - 1) = 0.0;
      for (Eigen::Index i = 0; i < std::min<Eigen::Index>(3, end - k); ++i)
        x[static_cast<std::size_t>(i)] = h_(k + 1 + i, k);
    }
  }

  /// Reflects `count` rows and columns from k on, so that x becomes a multiple of the first unit vector.
  void Reflect(Eigen::Index begin, Eigen::Index end, Eigen::Index k, Eigen::Index count, std::array<double, 3> x) {
    double size = 0.0, square = 0.0;
    for (Eigen::Index i = 0; i < count; ++i) size = std::max(size, std::abs(x[static_cast<std::size_t>(i)]));
    if (size == 0.0) return;
    for (Eigen::Index i = 0; i < count; ++i) {
      double& element = x[static_cast<std::size_t>(i)] /= size;
      square += element * element;
    }
    const double root = std::sqrt(square), twice = square + std::abs(x[0]) * root;
    x[0] += std::copysign(root, x[0]);
    for (Eigen::Index j = std::max(begin, k - 1); j <= end; ++j) {
      double product = 0.0;
      for (Eigen::Index i = 0; i < count; ++i) product += x[static_cast<std::size_t>(i)] * h_(k + i, j);
      for (Eigen::Index i = 0; i < count; ++i) h_(k + i, j) -= product / twice * x[static_cast<std::size_t>(i)];
    }
    for (Eigen::Index i = begin; i <= std::min(end, k + count); ++i) {
      double product = 0.0;
      for (Eigen::Index j = 0; j < count; ++j) product += x[static_cast<std::size_t>(j)] * h_(i, k + j);
      for (Eigen::Index j = 0; j < count; ++j) h_(i, k + j) -= product / twice * x[static_cast<std::size_t>(j)];
    }
  }

  Dense& h_;
  double norm_;
  std::vector<std::complex<double>> values_;
};

}  // namespace

std::vector<std::complex<double>> EigenvaluesOf(Dense matrix) {
  ReduceToHessenberg(matrix);
  return FrancisQr(matrix).Run();
}

}  // namespace headlens
