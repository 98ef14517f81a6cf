// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix.h"

namespace headlens::opencl {
namespace {

/// What a work-group computes of a product at a time, and what each of its items does of that.
struct Tile {
  Index m, n, depth, work_m, work_n;

  Index items() const { return m / work_m * (n / work_n); }
  Index local_memory() const { return depth * (m + n + 2) * static_cast<Index>(sizeof(float)); }
};

/// The largest first; the last runs on everything that OpenCL allows. A GPU hides its memory behind more registers.
constexpr Tile kTiles[] = {{128, 128, 16, 8, 8}, {64, 64, 16, 4, 4}, {32, 32, 16, 4, 4}, {8, 8, 8, 8, 8}};

/// Large tiles would leave most of a small product's work-groups idle.
bool Suits(const Tile& tile, const Session& session, const Product& product) {
  if (tile.items() > session.group_items() || tile.local_memory() > session.local_memory()) return false;
  if (tile.m <= 64) return true;
  const Index tiles = (product.m + tile.m - 1) / tile.m * ((product.n + tile.n - 1) / tile.n) * product.head_count;
  return session.device().type == "GPU" && tiles >= static_cast<Index>(session.device().compute_units);
}

const Tile& ChooseTile(const Session& session, const Product& product) {
  for (const Tile& tile : kTiles)
    if (Suits(tile, session, product)) return tile;
  return std::end(kTiles)[-1];
}

std::string Define(const char* name, Index value) {
  return std::string("-D ") + name + "=" + std::to_string(value) + " ";
}

}  // namespace

void Multiply(Session& session, const Product& p) {
  const Tile& tile = ChooseTile(session, p);
  const std::string options = Define("TILE_M", tile.m) + Define("TILE_N", tile.n) + Define("TILE_K", tile.depth) +
                              Define("WORK_M", tile.work_m) + Define("WORK_N", tile.work_n) + ElementOptions(p.b_type) +
                              (p.b_columns ? "-D B_COLUMNS" : "");
  const Index items_m = tile.m / tile.work_m, items_n = tile.n / tile.work_n;
  const Grid grid{{(p.n + tile.n - 1) / tile.n * items_n, (p.m + tile.m - 1) / tile.m * items_m, p.head_count},
                  {items_n, items_m, 1}};
  session.Launch(kMatrixSource, options, "Multiply", grid, p.a.buffer, p.b.buffer, p.c.buffer, p.bias, p.a.place,
                 p.b.place, p.c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k});
}

/// 16-bit floats are whole numbers in memory or are read by vload_half: devices need no extension for them.
std::string ElementOptions(DType type) {
  switch (type) {
    case DType::kF16:
      return "-D ELEMENT=half -D VALUE(p,i)=vload_half(i,p) ";
    case DType::kBF16:
      return "-D ELEMENT=ushort -D VALUE(p,i)=as_float((uint)(p)[i]<<16) ";
    default:
      return "-D ELEMENT=float -D VALUE(p,i)=(p)[i] ";
  }
}

Index GroupItems(const Session& session) {
  Index items = 128;
  while (items > session.group_items()) items /= 2;
  return items;
}

std::string GroupOption(const Session& session) { return Define("GROUP_ITEMS", GroupItems(session)); }

}  // namespace headlens::opencl
