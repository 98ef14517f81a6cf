// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_MULTIPLY_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_MULTIPLY_H_

#include "opencl/matrix/product.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// Computes a product by the kernel that suits it and the device. The second never uses matrix units.
void Multiply(Session& session, const Product& product);
void MultiplyWithoutUnits(Session& session, const Product& product);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_MULTIPLY_H_
