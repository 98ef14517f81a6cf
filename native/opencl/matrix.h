// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_H_

#include <string>

#include "opencl/places.h"
#include "opencl/session.h"

namespace headlens::opencl {

/// A matrix for each head of a launch, and where these are.
struct Operand {
  cl::Buffer buffer;
  Place place;
};

/// C [m, n] = A [m, k] · B + bias [n] for each head. B is [k, n], or [n, k] with `b_columns`, and of type F32, F16 or
/// BF16. No size is 0.
struct Product {
  Operand a, b, c;
  Index m, n, k;
  bool b_columns = false;
  DType b_type = DType::kF32;
  cl::Buffer bias{};
  Heads heads{};
  Index head_count = 1;
};

void Multiply(Session& session, const Product& product);

/// Build options for weights of that type: ELEMENT, what they are in memory, and VALUE(p, i), element i as a float.
std::string ElementOptions(DType type);

/// A work-group for kernels that reduce or count: a power of two.
Index GroupItems(const Session& session);
std::string GroupOption(const Session& session);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_H_
