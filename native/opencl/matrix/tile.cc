// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/tile.h"

#include <algorithm>
#include <iterator>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/parts.h"

namespace headlens::opencl {
namespace {

constexpr char kKernel[] = "Multiply";

/// Returns true when every item reads as many vectors as every other, and its rows and columns are whole vectors of
/// local memory.
constexpr bool IsWhole(const Tile& t) {
  return t.m * t.depth % (t.items() * gpu::kVector) == 0 && t.n * t.depth % (t.items() * gpu::kVector) == 0 &&
         t.depth % gpu::kVector == 0 && t.work_n % t.wide == 0 && (t.wide != 4 || t.work_m % 4 == 0);
}
static_assert(std::all_of(std::begin(kTiles), std::end(kTiles), IsWhole));

/// NVIDIA's compiler would give the items of the largest tiles some registers more, and then a compute unit has room
/// for one work-group instead of two.
std::string RegisterOption(const Session& session, const Tile& t) {
  return t.items() == 256 && t.work_m * t.work_n == 64 ? MostRegisters(session, 128) : "";
}

std::string OptionsOf(const Session& session, const Product& p, const Tile& t) {
  const bool aligned = (p.n | p.k) % gpu::kVector == 0 && gpu::IsAligned(p.a.place) && gpu::IsAligned(p.b.place) &&
                       gpu::IsAligned(p.c.place);
  return Define("TILE_M", t.m) + Define("TILE_N", t.n) + Define("TILE_K", t.depth) + Define("WORK_M", t.work_m) +
         Define("WORK_N", t.work_n) + Define("WIDE", t.wide) + Define("BUFFERS", t.buffers) +
         RegisterOption(session, t) + ReadingOptions(p, aligned);
}

}  // namespace

std::string NameOf(const Tile& t) {
  const auto by = [](Index a, Index b) { return std::to_string(a) + "x" + std::to_string(b); };
  return "tile " + by(t.m, t.n) + "x" + std::to_string(t.depth) + " work " + by(t.work_m, t.work_n) + " wide " +
         std::to_string(t.wide) + " buffers " + std::to_string(t.buffers);
}

bool Fits(const Session& session, const Tile& t) {
  return t.items() <= session.group_items() && t.local_memory() <= session.local_memory();
}

bool RunsWhole(Session& session, const Product& p, const Tile& t) {
  return session.GroupItemsOf(kMatrixSource, OptionsOf(session, p, t), kKernel) >= t.items();
}

void Multiply(Session& session, const Product& p, const Tile& t) {
  const Index items_m = t.m / t.work_m, items_n = t.n / t.work_n;
  const Index groups = CountOf(p.m, t.m) * CountOf(p.n, t.n) * p.head_count;
  const Parts parts = PartsOf(session, p, groups, t.items(), t.depth);
  const Grid grid{groups * parts.count * items_n, items_n, items_m};
  InParts(session, p, parts, [&](const Operand& c, const Memory& bias, Index part_size) {
    session.Launch(kMatrixSource, OptionsOf(session, p, t), kKernel, grid, p.a.buffer, p.b.buffer, c.buffer, bias,
                   p.a.place, p.b.place, c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k},
                   cl_long{p.head_count}, cl_long{parts.depth}, cl_long{part_size});
  });
}

}  // namespace headlens::opencl
