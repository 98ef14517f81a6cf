// SPDX-License-Identifier: Apache-2.0
/// The matrix units of NVIDIA's GPUs, which kernels reach by inline PTX: the numbers that all of these kernels have in
/// common, and how their tiles compete with the ordinary kernels. They have to win: where tuning found the ordinary
/// kernels to be faster, these run.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_MMA_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_MMA_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

/// The work-items in a row that are a warp, which multiplies fragments together.
inline constexpr Index kWarp = 32;

/// The tiles of a precision in local memory, as kernels/mma.cl has them.
struct MmaLayout {
  explicit MmaLayout(Precision precision) : splits(precision == Precision::kTf32x3) {}

  bool splits;                                    ///< a number is the sum of two parts
  Index step() const { return splits ? 8 : 16; }  ///< the depth of one instruction
  Index number_bytes() const { return splits ? 4 : 2; }
  Index pad_along() const { return 8; }                 ///< numbers after each row, whose pairs lie along the row
  Index pad_across() const { return splits ? 4 : 8; }   ///< the same where pairs lie across the rows
  Index left_words() const { return splits ? 8 : 4; }   ///< 32-bit words of a lane for a left fragment
  Index right_words() const { return splits ? 4 : 2; }  ///< and for a right one
};

/// The options that all of these kernels are built with: the session's precision, and whether they are emulated.
std::string MmaOptions(const Session& session);

/// Returns true when the device has local memory for `numbers` numbers and, where matrix units are emulated, for the
/// exchange of each warp's fragments. A GPU needs no exchange, so this may be more local memory than a GPU has.
bool MmaFits(const Session& session, Index numbers, Index warps, Index lefts, Index rights);

/// The name that a race between tiles for matrix units and the ordinary kernels has in a precision. Both ways of 16
/// bits are as fast as each other, so they have one race.
std::string MmaRaceName(Precision precision, const std::string& work);

/// A choice between these tiles and, as the last candidate, the ordinary kernels.
template <class Tile>
Tunable MmaTunable(std::string name, std::span<const Tile> tiles, std::size_t preset) {
  std::vector<std::string> names;
  for (const Tile& tile : tiles) names.push_back(NameOf(tile));
  names.push_back("ordinary kernels");
  return {.name = std::move(name),
          .candidates = std::move(names),
          .fits = [tiles](const Session& on, std::size_t i) { return i == tiles.size() || Fits(on, tiles[i]); },
          .preset = [preset](Family) { return preset; }};
}

/// The chosen tile; nothing where the ordinary kernels won.
template <class Tile>
std::optional<Tile> ChooseTile(const Session& session, const Tunable& tunable, std::span<const Tile> tiles) {
  const std::size_t i = Choose(session, tunable);
  return i < tiles.size() ? std::optional(tiles[i]) : std::nullopt;
}

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_MMA_H_
