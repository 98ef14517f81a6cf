// SPDX-License-Identifier: Apache-2.0
/// Products on matrix units.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_WARP_TILE_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_WARP_TILE_H_

#include <span>
#include <string>

#include "opencl/matrix/product_kind.h"

namespace headlens::opencl {

/// The part of a product that a work-group computes, and the warps that share it. With `stages` that is a work-group of
/// MultiplyRing, whose ring has so many slices, each `steps` instructions deep; without, one of MultiplyMma.
struct WarpTile {
  Index m, n, warps_m, warps_n;
  Index stages = 0, steps = 0;

  constexpr Index warps() const { return warps_m * warps_n; }
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const WarpTile& tile);

/// Returns true when the device has the items and the local memory, for B [k, n] and [n, k] alike.
bool Fits(const Session& session, const WarpTile& tile);

std::span<const WarpTile> WarpTiles();

/// The kinds of products that matrix units compete for. Few rows are read faster than these could be filled with them.
inline constexpr ProductKind kWarpKinds[] = {ProductKind::kLarge, ProductKind::kMiddle, ProductKind::kSmall};

/// The candidates for one of these kinds: all tiles, and then the ordinary kernels.
const Tunable& WarpTunableOf(Precision precision, ProductKind kind);

/// Computes the product of Multiply, if the session has matrix units and they are fast for it. Returns false when it
/// has not computed anything.
bool MultiplyOnMatrixUnits(Session& session, const Product& product);

/// Launches that tile, which must fit. A ring takes rows of the precision's numbers that begin at multiples of 16
/// bytes: numbers of 16 bits are rounded to such rows first. A product that no ring can take has a tile without one.
void Multiply(Session& session, const Product& product, const WarpTile& tile);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_WARP_TILE_H_
