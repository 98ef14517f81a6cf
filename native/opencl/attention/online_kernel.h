// SPDX-License-Identifier: Apache-2.0
/// Attention without cells in memory, by the kernels of kernels/online.cl, and for few rows of kernels/few.cl: their
/// tiles, and the choice of one for a device.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_KERNEL_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_KERNEL_H_

#include <optional>
#include <span>
#include <string>
#include <variant>

#include "gpu/few_tile.h"
#include "gpu/online_tile.h"
#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

using gpu::FewTile;
using gpu::OnlineTile;

/// The tiles that compete.
std::span<const OnlineTile> OnlineTiles();
std::span<const FewTile> FewTiles();

/// The work that tiles compete for: few rows or many, of heads and values of at most that width.
struct OnlineWork {
  const char* name;
  Index width;
  bool few;
};
inline constexpr OnlineWork kOnlineWorks[] = {
    {"attention.few", 64, true}, {"attention.many-64", 64, false}, {"attention.many-128", 128, false}};

/// The candidates for kOnlineWorks[work].
const Tunable& OnlineTunableOf(std::size_t work);
/// The kernel that a candidate is.
std::variant<OnlineTile, FewTile> OnlineCandidate(std::size_t work, std::size_t candidate);

/// Chooses a tile for groups of `rows` rows, which are the queries of all heads that share keys, and for a width that
/// the kernel is built for. Returns nothing when no tile fits the device.
std::optional<OnlineTile> ChooseOnlineTile(const Session& session, Index width, Index rows);

/// Chooses a tile of the kernel for few rows. Returns nothing when another kernel is faster on the device.
std::optional<FewTile> ChooseFewTile(const Session& session);

/// Returns true when queries, keys and values are rounded to 16 bits first: the session's precision has 16 bits, and
/// groups of `rows` rows read them often enough that rounding saves time.
bool RoundsRows(const Session& session, const OnlineTile& tile, Index rows);

/// A tile, and the width of heads and values that the kernel is built for.
struct OnlineShape {
  OnlineTile tile;
  Index width;
};

/// The numbers that the kernel reads.
struct OnlineInputs {
  bool rounded;     ///< q, k and v are from RoundRows
  bool aligned;     ///< all rows of floats are whole fours, and begin where a float4 may
  bool row_ranges;  ///< each row sees a range of keys, and nothing else happens to scores
};

/// The build options of AttendOnline, and of AttendFew.
std::string OnlineOptions(const Session& session, const OnlineShape& shape, const OnlineInputs& inputs);
std::string FewOptions(const Session& session, const gpu::FewShape& shape, const OnlineInputs& inputs);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_KERNEL_H_
