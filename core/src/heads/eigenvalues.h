// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_HEADS_EIGENVALUES_H_
#define HEADLENS_SRC_HEADS_EIGENVALUES_H_

#include <complex>
#include <vector>

#include "heads/dense.h"

namespace headlens {

/// The eigenvalues of a square matrix of finite numbers, in any order: the double-shift QR algorithm (Francis 1961;
/// Golub & Van Loan 2013, §7.4 and §7.5) on its Hessenberg form. Complex ones come in pairs that are exactly conjugate.
/// Throws kValue when it does not converge. Eigen's own solver, against which this one is tested, would be 6 KB of the
/// download.
std::vector<std::complex<double>> EigenvaluesOf(Dense matrix);

}  // namespace headlens

#endif  // HEADLENS_SRC_HEADS_EIGENVALUES_H_
