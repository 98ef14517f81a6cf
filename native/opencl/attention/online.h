// SPDX-License-Identifier: Apache-2.0
/// How attention without cells in memory is cut for a device: kernels/online.cl.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_

#include <optional>
#include <span>
#include <string>

#include "opencl/matrix/matrix.h"
#include "opencl/runtime/session.h"
#include "opencl/tuning/tuning.h"

namespace headlens::opencl {

/// What a work-group computes at a time, and the square of its work-items; with `quads` each has four neighbouring
/// columns at a time, as GPUs read local memory fastest.
struct OnlineTile {
  Index rows, keys, items_x, items_y, depth_slice;
  bool quads;

  Index items() const { return items_x * items_y; }
  /// How many values' rows are in local memory at a time, where keys' depths are at other times.
  Index key_slice(Index width) const;
  /// For heads and values that fit in `width`, in bytes.
  Index local_memory(Index width) const;
  /// Whether the kernel can be built so, and the device has the memory and the work-items.
  bool Suits(const Session& session, Index width) const;
};

/// Those that compete.
std::span<const OnlineTile> OnlineTiles();
std::string NameOf(const OnlineTile& tile);

/// What tiles compete for: `few` rows or many, of heads and values of at most that width.
struct OnlineWork {
  const char* name;
  Index width;
  bool few;
};
inline constexpr OnlineWork kOnlineWorks[] = {
    {"attention.few", 64, true}, {"attention.many-64", 64, false}, {"attention.many-128", 128, false}};

/// The tile that devices of a family are likely to be fastest with at a work of kOnlineWorks: indices both.
std::size_t OnlinePreset(Family family, std::size_t work);

/// What kernels for attention compete over: heads and values of that width, a single query or many, with scores that
/// are capped or not.
struct AttentionShape {
  Index width;
  bool few = false, capped = false;
};

/// A Tunable for each work.
std::span<const Tunable> OnlineTunables();

/// The width that the kernel is built for where heads and values need at least `width`; nothing for more than it has.
std::optional<Index> OnlineWidth(Index width);

/// For groups with so many `rows`, queries of all heads that share keys, and a width that the kernel is built for;
/// nothing where no tile fits the device.
std::optional<OnlineTile> ChooseOnlineTile(const Session& session, Index width, Index rows);

/// What the kernel is built for.
struct OnlineShape {
  OnlineTile tile;
  Index width;
};

/// How many work-groups share the keys of a tile of rows, so that all `tiles` together fill the device.
Index OnlineParts(const Session& session, const OnlineTile& tile, Index tiles, Index keys);

/// Whether the precision has queries, keys and values of 16 bits.
bool HasHalves(Precision precision);

/// Whether queries, keys and values are rounded to 16 bits before so many `rows` of each group read them: where the
/// session's precision has 16 bits, and that saves time.
bool RoundsRows(const Session& session, const OnlineTile& tile, Index rows);

/// What else the kernel is built for.
struct OnlineInputs {
  bool rounded;     ///< q, k and v are from RoundRows
  bool aligned;     ///< all rows of floats are whole fours, and begin where a float4 may
  bool row_ranges;  ///< all that happens to scores is that each row sees a range of keys
};

/// Build options.
std::string OnlineOptions(const Session& session, const OnlineShape& shape, const OnlineInputs& inputs);

/// Rows of `to`, `padded` long, = rows [heads, rows, width] in 16 bits. Sets `unusual`, where there is one, where a
/// number is too large.
void RoundRows(Session& session, const Operand& from, const Heads& heads, Index head_count, Index rows, Index width,
               Index padded, const Operand& to, const Memory& unusual);

/// Rows [heads, rows, width] in 16 bits and padded to multiples of 16 bytes, which may be read at once. Sets `unusual`
/// where one is too large.
Operand RoundRows(Session& session, const Operand& from, const Heads& heads, Index head_count, Index rows, Index width,
                  const Memory& unusual);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_ONLINE_H_
