// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_TILE_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_TILE_H_

#include <span>
#include <string>

#include "opencl/matrix/product.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// The parameters of a kernel for any product. kernels/matrix.cl says what the parameters are.
struct Tile {
  Index m, n, depth, work_m, work_n, wide, buffers;

  constexpr Index items() const { return m / work_m * (n / work_n); }
  constexpr Index local_memory() const { return buffers * depth * (m + n + wide + 4) * Index{sizeof(float)}; }
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const Tile& tile);

/// The candidates, the last of which runs on everything that OpenCL allows. First come those for GPUs from the largest
/// to the smallest, each of which asks for less than the one before. Then comes one for CPUs, whose few items do all in
/// long vectors.
inline constexpr Tile kTiles[] = {
    {128, 128, 16, 8, 8, 4, 2}, {128, 128, 8, 8, 8, 4, 2},  {128, 64, 16, 8, 8, 4, 2}, {64, 64, 16, 4, 4, 4, 2},
    {64, 64, 16, 4, 4, 4, 1},   {64, 64, 16, 8, 8, 4, 2},   {32, 64, 16, 4, 4, 4, 2},  {32, 32, 16, 4, 4, 4, 2},
    {32, 32, 8, 4, 4, 4, 1},    {64, 64, 32, 4, 32, 16, 1}, {8, 8, 8, 8, 8, 4, 1},
};
constexpr std::span<const Tile> Tiles() { return kTiles; }

/// Returns true when the device has the items and the local memory.
bool Fits(const Session& session, const Tile& tile);

/// Returns true when the compiled kernel runs in groups as large as the tile asks for.
bool RunsWhole(Session& session, const Product& product, const Tile& tile);

/// Launches that kernel, which must fit.
void Multiply(Session& session, const Product& product, const Tile& tile);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_TILE_H_
