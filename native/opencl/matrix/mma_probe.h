// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_MMA_PROBE_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_MMA_PROBE_H_

#include <array>
#include <span>

#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// Returns true when the precision of a session asks for matrix units and its device has such as work. To find that
/// out, the instructions of the precision run in a session of their own, which may end with an instruction that the
/// device does not have. False for devices that are not NVIDIA's unless the settings emulate, and where anything fails.
bool HasMatrixUnits(Session& session);

/// The results of MultiplyOnce: product [16, 16], and the largest number and the sum of each row of its first eight
/// columns. Right matrices are read both ways, as columns and as rows of a tile; `ways` is true when these agree.
struct MmaResult {
  std::array<float, 16 * 16> product;
  std::array<float, 16> maxima, totals;
  bool ways;
};

/// Runs the instructions by themselves: left [16, depth] · right [depth, 16], where depth is 8 for kTf32x3 and 16 for
/// 16 bits.
MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_MMA_PROBE_H_
