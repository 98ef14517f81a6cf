// SPDX-License-Identifier: Apache-2.0
#include "heads/dense.h"

namespace headlens {

Dense Product(const Dense& a, const Dense& b) { return a * b; }

}  // namespace headlens
