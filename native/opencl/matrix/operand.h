// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_OPERAND_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_OPERAND_H_

#include "gpu/place.h"
#include "opencl/runtime/memory.h"

namespace headlens::opencl {

/// Rows of heads in a buffer.
struct Operand {
  Memory buffer;
  gpu::Place place;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_OPERAND_H_
