// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_H_

#include <string>

#include "opencl/session.h"

namespace headlens::opencl {

/// C [heads, m, n] = A [heads, m, k] · B + bias [n]. B is [slots, k, n], or [slots, n, k] with `b_columns`, and of type
/// F32, F16 or BF16. `head_table` says which slot each head has: three numbers for each, of which the last; without it
/// there is one head and one slot. No size is 0.
struct Product {
  const cl::Buffer &a, &b, &c;
  Index m, n, k;
  bool b_columns = false;
  DType b_type = DType::kF32;
  Index heads = 1;
  cl::Buffer bias{}, head_table{};
};

void Multiply(Session& session, const Product& product);

/// A work-group for kernels that reduce or count: a power of two.
Index GroupItems(const Session& session);
std::string GroupOption(const Session& session);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_H_
