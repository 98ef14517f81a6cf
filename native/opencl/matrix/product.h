// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_H_

#include <string>

#include "opencl/matrix/operand.h"

namespace headlens::opencl {

/// C [m, n] = A [m, k] · B + bias [n] for each head. B is [k, n], or [n, k] with `b_columns`, and of type F32, F16 or
/// BF16. No size is 0.
struct Product {
  Operand a, b, c;
  Index m, n, k;
  bool b_columns = false;
  DType b_type = DType::kF32;
  Memory bias{};  ///< null without one
  gpu::Heads heads = gpu::kOneHead;
  Index head_count = 1;
  /// A and B may be rounded to 16 bits, where the settings say so.
  bool rounds = false;
  /// Where a copy of B in 16 bits is kept for the next product, if B stays as it is; null where none is.
  Memory* b_rounded = nullptr;
};

/// The number of units of that size that cover `value`.
constexpr Index CountOf(Index value, Index unit) { return (value + unit - 1) / unit; }

/// The build options that say how a kernel reads B, and whether it reads vectors.
std::string ReadingOptions(const Product& product, bool aligned);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_PRODUCT_H_
