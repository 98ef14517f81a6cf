// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's matrix units through inline PTX: whether a device has them, and what runs on them. Session says which
/// precision is asked for; elsewhere, and in fp32, nothing here is used.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_UNITS_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_UNITS_H_

#include <optional>
#include <string>

#include "opencl/matrix.h"

namespace headlens::opencl {

/// Runs one instruction of the session's precision and looks at what comes out. False for devices that are not NVIDIA's
/// unless the session emulates, and where anything fails.
bool ProbeMatrixUnits(Session& session);

/// One instruction by itself: product [16, 8] = left [16, depth] · right [depth, 8], with the largest number and the
/// sum of each of its rows, where depth is 8 for kTf32x3 and 16 for 16 bits.
struct MmaResult {
  std::array<float, 16 * 8> product;
  std::array<float, 16> maxima, totals;
};
MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right);

/// What Multiply is to do, if the session has matrix units and the product suits them. False if nothing was done.
bool MultiplyOnMatrixUnits(Session& session, const Product& product);

/// How to launch AttendOnlineMma in place of AttendOnline: the rows of a tile, and the work-items that compute it.
struct FusedKernel {
  std::string options;
  Index tile_rows, items;
};

/// For heads and values of at most `width`; `changes_scores`, if there is a soft cap, or a bias or an additive mask.
/// Nothing if the session has no matrix units or such a width does not fit them.
std::optional<FusedKernel> FusedOnMatrixUnits(Session& session, Index width, bool changes_scores);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_UNITS_H_
