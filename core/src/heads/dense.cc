// SPDX-License-Identifier: Apache-2.0
#include "heads/dense.h"

namespace headlens {
namespace {

/// c ← c + x0·a0 + x1·a1 + x2·a2 + x3·a3, for columns of `rows` numbers.
void AddColumns(Eigen::Index rows, const double* a, const double (&x)[4], double* c) {
  for (Eigen::Index i = 0; i < rows; ++i)
    c[i] += x[0] * a[i] + x[1] * a[rows + i] + x[2] * a[2 * rows + i] + x[3] * a[3 * rows + i];
}

}  // namespace

// Eigen's own product would be 8 KB of the download.
Dense Product(const Dense& a, const Dense& b) {
  const Eigen::Index rows = a.rows(), inner = a.cols(), whole = inner - inner % 4;
  Dense c = Dense::Zero(rows, b.cols());
  for (Eigen::Index k = 0; k < whole; k += 4)
    for (Eigen::Index j = 0; j < b.cols(); ++j)
      AddColumns(rows, a.data() + k * rows, {b(k, j), b(k + 1, j), b(k + 2, j), b(k + 3, j)}, c.data() + j * rows);
  for (Eigen::Index k = whole; k < inner; ++k)
    for (Eigen::Index j = 0; j < b.cols(); ++j)
      for (Eigen::Index i = 0; i < rows; ++i) c(i, j) += a(i, k) * b(k, j);
  return c;
}

}  // namespace headlens
