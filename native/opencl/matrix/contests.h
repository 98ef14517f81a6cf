// SPDX-License-Identifier: Apache-2.0
/// The races between kernels for products, and the products that they are held over.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_CONTESTS_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_CONTESTS_H_

#include <vector>

#include "opencl/tuning/race.h"

namespace headlens::opencl {

/// The races of the ordinary kernels, and of a precision's matrix units against these.
std::vector<Contest> ProductContests();
std::vector<Contest> WarpContests(Precision precision);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_CONTESTS_H_
