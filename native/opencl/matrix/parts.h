// SPDX-License-Identifier: Apache-2.0
/// Products that would leave the device idle have their depth cut into parts, which are added up at the end.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_PARTS_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_PARTS_H_

#include "opencl/matrix/product.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// `count` parts, each `depth` deep.
struct Parts {
  Index count, depth;
};

/// The parts for a product of `groups` work-groups with `items` items each, which read `step` of the depth at once.
Parts PartsOf(const Session& session, const Product& product, Index groups, Index items, Index step);

/// Adds up the sums that the parts left, `size` elements for each, and the bias.
void AddParts(Session& session, const Product& product, const Parts& parts, const Operand& sums, Index size);

/// Calls launch(c, bias, size), by which the parts are to leave their sums in c, `size` elements apart; then adds these
/// up.
template <class F>
void InParts(Session& session, const Product& product, const Parts& parts, const F& launch) {
  if (parts.count == 1) return launch(product.c, product.bias, Index{0});
  const Index size = product.head_count * product.m * product.n;
  const Operand sums{session.Allocate<float>(parts.count * size), gpu::DensePlace(product.heads, product.m, product.n)};
  launch(sums, Memory(), size);
  AddParts(session, product, parts, sums, size);
}

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_PARTS_H_
