// SPDX-License-Identifier: Apache-2.0
/// Matrices for Eigen. Its indices are as wide as an address, so on 32-bit wasm they are narrower than Index; no view
/// of memory can be larger there.
#ifndef HEADLENS_SRC_HEADS_DENSE_H_
#define HEADLENS_SRC_HEADS_DENSE_H_

#include "Eigen/Core"
#include "headlens/matrix.h"
#include "headlens/tensor.h"

namespace headlens {

using Dense = Eigen::MatrixXd;
inline Eigen::Index EigenIndex(Index i) { return static_cast<Eigen::Index>(i); }

/// An Eigen view of a matrix's own elements.
inline Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> AsEigen(const Matrix& m) {
  return {m.values().data(), EigenIndex(m.rows()), EigenIndex(m.columns())};
}

/// A copy in fp64.
inline Dense ToDense(const View<const float, 2>& x) {
  Dense dense(EigenIndex(x.shape[0]), EigenIndex(x.shape[1]));
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index j = 0; j < x.shape[1]; ++j) dense(EigenIndex(i), EigenIndex(j)) = double{x(i, j)};
  return dense;
}

/// a · b. All products of matrices use this one function, because each combination of operand types adds kilobytes of
/// Eigen's code.
Dense Product(const Dense& a, const Dense& b);

}  // namespace headlens

#endif  // HEADLENS_SRC_HEADS_DENSE_H_
