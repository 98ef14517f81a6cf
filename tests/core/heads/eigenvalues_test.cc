// SPDX-License-Identifier: Apache-2.0
/// Eigenvalues, compared with those of Eigen's solver, and of matrices whose eigenvalues are known.
#include "heads/eigenvalues.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Eigenvalues"
#include "support.h"

namespace headlens::testing {
namespace {

using Values = std::vector<std::complex<double>>;

/// Checks that both are the same numbers, in whatever order, each to within `tolerance`.
void CheckSameValues(const Values& got, Values expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (const std::complex<double>& value : got) {
    const auto nearest = std::ranges::min_element(expected, {}, [&](const auto& one) { return std::abs(one - value); });
    CHECK(std::abs(*nearest - value) <= tolerance);
    expected.erase(nearest);
  }
}

Values EigensOwn(const Dense& matrix) {
  const Eigen::EigenSolver<Dense> solver(matrix, false);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

Dense RandomMatrix(Random& random, Eigen::Index n) {
  Dense matrix(n, n);
  for (double& x : matrix.reshaped()) x = double{random.Normal()};
  return matrix;
}

TEST_CASE("eigenvalues of random matrices are Eigen's, and complex ones are exact pairs") {
  Random random(77);
  for (Eigen::Index n = 1; n <= 40; ++n) {
    CAPTURE(n);
    const Dense matrix = RandomMatrix(random, n), low = RandomMatrix(random, n).leftCols((n + 1) / 2);
    const Values values = EigenvaluesOf(matrix);
    CheckSameValues(values, EigensOwn(matrix), 1e-11 * matrix.norm());
    for (const double scale : {1e-60, 1e60})
      CheckSameValues(EigenvaluesOf(matrix * scale), EigensOwn(matrix * scale), 1e-11 * scale * matrix.norm());
    const Dense symmetric = matrix + matrix.transpose(), singular = low * low.transpose();
    for (const Dense& other : {symmetric, singular}) {
      for (const auto& value : EigenvaluesOf(other)) CHECK(std::abs(value.imag()) <= 1e-6 * other.norm());
      CheckSameValues(EigenvaluesOf(other), EigensOwn(other), 1e-6 * other.norm());
    }
    for (const auto& value : values) CHECK(std::ranges::count(values, std::conj(value)) >= 1);
  }
}

TEST_CASE("known eigenvalues") {
  for (const Eigen::Index n : {1, 2, 3, 4, 7, 16}) {
    CAPTURE(n);
    CheckSameValues(EigenvaluesOf(Dense::Zero(n, n)), Values(static_cast<std::size_t>(n)), 0.0);
    CheckSameValues(EigenvaluesOf(Dense::Identity(n, n) * 3.0), Values(static_cast<std::size_t>(n), 3.0), 0.0);
    Dense cycle = Dense::Zero(n, n), jordan = Dense::Identity(n, n), triangle = Dense::Zero(n, n);
    Values roots, diagonal;
    for (Eigen::Index i = 0; i < n; ++i) {
      cycle((i + 1) % n, i) = 1.0;  // its own shifts would never change it
      if (i + 1 < n) jordan(i, i + 1) = 1.0;
      for (Eigen::Index j = i; j < n; ++j) triangle(i, j) = static_cast<double>(i + 2 * j + 1);
      diagonal.emplace_back(triangle(i, i));
      roots.push_back(std::polar(1.0, 2.0 * std::acos(-1.0) * static_cast<double>(i) / static_cast<double>(n)));
    }
    CheckSameValues(EigenvaluesOf(cycle), roots, 1e-12);
    CheckSameValues(EigenvaluesOf(triangle), diagonal, 0.0);
    CheckSameValues(EigenvaluesOf(jordan), Values(static_cast<std::size_t>(n), 1.0), 0.0);
    // The eigenvalue of one block is as exact as the root of the precision that has the block's size.
    const Dense coupled = jordan.transpose();
    CheckSameValues(EigenvaluesOf(coupled), Values(static_cast<std::size_t>(n), 1.0),
                    4.0 * std::pow(2.3e-16, 1.0 / static_cast<double>(n)));
  }
}

}  // namespace
}  // namespace headlens::testing
