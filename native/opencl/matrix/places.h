// SPDX-License-Identifier: Apache-2.0
/// Where tensors of heads are in a device's memory. The structures are arguments of kernels: places.cl has them too.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_PLACES_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_PLACES_H_

#include "opencl/runtime/status.h"

namespace headlens::opencl {

/// Elements from one to the next batch, group of heads, member of the group and row; `base` is where the first is.
struct Place {
  cl_long base, batch, group, member, row;
};

/// A matrix with `row` elements from one row to the next.
inline Place MatrixPlace(cl_long row, cl_long base = 0) { return {base, 0, 0, 0, row}; }

/// Which heads a launch works on: head z is member z % members of group first + z / members, counted through the batch.
struct Heads {
  cl_long first = 0, groups = 1, members = 1;
};

/// Dense rows of those heads, in their order.
inline Place DensePlace(const Heads& heads, cl_long rows, cl_long width) {
  const cl_long member = rows * width, group = heads.members * member;
  return {-heads.first * group, heads.groups * group, group, member, width};
}

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_PLACES_H_
