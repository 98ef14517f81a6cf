// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/product.h"

#include "opencl/kernels/options.h"

namespace headlens::opencl {

std::string ReadingOptions(const Product& p, bool aligned) {
  return Define("VECTOR", aligned ? gpu::kVector : 1) + ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS " : "");
}

}  // namespace headlens::opencl
