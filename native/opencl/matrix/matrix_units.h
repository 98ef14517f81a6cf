// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's matrix units through inline PTX: whether a device has them, and what runs on them. Session says which
/// precision is asked for; elsewhere, and in fp32, nothing here is used. Even then they have to win: where Tune() has
/// found the ordinary kernels to be faster, these run.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_UNITS_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_UNITS_H_

#include <optional>
#include <span>
#include <string>

#include "opencl/matrix/matrix.h"

namespace headlens::opencl {

/// Runs the instructions of a precision and looks at what comes out: in a session of its own, which may end with an
/// instruction that the device has not. False for devices that are not NVIDIA's unless the settings emulate, and where
/// anything fails.
bool ProbeMatrixUnits(const Settings& settings);

/// The instructions by themselves: product [16, 16] = left [16, depth] · right [depth, 16], with the largest number and
/// the sum of each row of its first eight columns, where depth is 8 for kTf32x3 and 16 for 16 bits. Right matrices are
/// read both ways, as columns and as rows of a tile, and `ways` tells whether these agree.
struct MmaResult {
  std::array<float, 16 * 16> product;
  std::array<float, 16> maxima, totals;
  bool ways;
};
MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right);

/// What a work-group computes of a product, and the warps that share it.
struct WarpTile {
  Index m, n, warps_m, warps_n;

  constexpr Index warps() const { return warps_m * warps_n; }
};

/// What Multiply is to do, if the session has matrix units and they are fast with the product. False if nothing was
/// done.
bool MultiplyOnMatrixUnits(Session& session, const Product& product);

/// By that tile, which must fit.
void Multiply(Session& session, const Product& product, const WarpTile& tile);

/// What a work-group of AttendOnlineMma computes, which runs in place of AttendOnline: each of its warps 16 · `lefts`
/// rows, of heads and values of at most that width, `keys` keys at a time.
struct FusedTile {
  Index width, warps, lefts, keys;

  constexpr Index rows() const { return warps * lefts * 16; }
  Index items() const;
};

/// What fused attention competes with in one precision: heads and values of at most that width; whether scores are
/// capped or biased, which takes registers.
struct FusedWork {
  Index width;
  bool changes_scores;
};

/// Those that compete, the first of which devices have without tuning; none for heads that are too wide.
std::span<const FusedTile> FusedTiles(Precision precision, const FusedWork& work);

/// Nothing if the session has no matrix units, or the ordinary kernels are faster.
std::optional<FusedTile> FusedOnMatrixUnits(Session& session, const FusedWork& work);

/// Build options. `aligned`: all rows of keys and values begin at multiples of 16 bytes.
std::string FusedOptions(const Session& session, const FusedTile& tile, bool changes_scores, bool aligned);

/// For a session that has matrix units: the last candidate of each are the ordinary kernels.
std::span<const Tunable> UnitTunables(Precision precision);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_MATRIX_UNITS_H_
