// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_LANES_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_LANES_H_

#include <span>
#include <string>

#include "opencl/matrix/product.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// The parameters of a kernel for products of few rows. kernels/vectors.cl says what the parameters are.
struct Lanes {
  static constexpr Index kMostRows = 8;
  static constexpr Index kMostSums = 16;  ///< of an item, with b_columns: more would not stay in registers
  static constexpr Index kColumns = 4;    ///< of an item, at most, without

  Index lanes, lines, work;

  constexpr Index items() const { return lanes * lines; }
  /// The bytes of local memory that it takes for kMostRows rows.
  constexpr Index local_memory(bool b_columns) const {
    const Index floats = b_columns ? lines * kMostSums * (lanes + 1) : lanes * kMostRows * kColumns * (lines + 1);
    return floats * Index{sizeof(float)};
  }
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const Lanes& lanes);

/// The candidates for B [n, k]: lanes go along the depth, and a line has `work` columns.
inline constexpr Lanes kAlongDepth[] = {{32, 8, 4}, {32, 4, 4}, {32, 4, 2}, {16, 8, 4}, {16, 4, 2}, {1, 1, 4}};

/// The candidates for B [k, n]: lanes go along the columns, and lines along the depth.
inline constexpr Lanes kAlongColumns[] = {{32, 8, 4}, {16, 16, 4}, {16, 8, 4}, {16, 4, 2}, {8, 8, 4}, {1, 1, 4}};

/// The candidates, the last of which runs on every device.
constexpr std::span<const Lanes> LanesFor(bool b_columns) {
  return b_columns ? std::span<const Lanes>(kAlongDepth) : std::span<const Lanes>(kAlongColumns);
}

/// Returns true when the device has the items and the local memory.
bool Fits(const Session& session, const Lanes& lanes, bool b_columns);

/// Returns true when the compiled kernel runs in groups as large as the lanes ask for.
bool RunsWhole(Session& session, const Product& product, const Lanes& lanes);

/// Launches that kernel, which must fit, for at most kMostRows rows.
void Multiply(Session& session, const Product& product, const Lanes& lanes);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_LANES_H_
