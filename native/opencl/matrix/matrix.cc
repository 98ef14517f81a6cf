// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/matrix.h"

#include <algorithm>

#include "opencl/matrix/matrix_units.h"

namespace headlens::opencl {
namespace {

/// How many elements kernels read as one, where all rows begin at multiples of so many.
constexpr Index kVector = 4;

constexpr char kTileKernel[] = "Multiply", kLanesKernel[] = "MultiplyFew";

bool IsAligned(const Place& p) { return (p.base | p.batch | p.group | p.member | p.row) % kVector == 0; }

std::string ReadingOptions(const Product& p, bool aligned) {
  return Define("VECTOR", aligned ? kVector : 1) + ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS" : "");
}

/// NVIDIA's compiler would give the items of the largest tiles some registers more, and then a compute unit has room
/// for one work-group instead of two.
std::string RegisterOption(const Session& session, const Tile& t) {
  return t.items() == 256 && t.work_m * t.work_n == 64 ? MostRegisters(session, 128) : "";
}

std::string OptionsOf(const Session& session, const Product& p, const Tile& t) {
  const bool aligned =
      (p.n | p.k) % kVector == 0 && IsAligned(p.a.place) && IsAligned(p.b.place) && IsAligned(p.c.place);
  return Define("TILE_M", t.m) + Define("TILE_N", t.n) + Define("TILE_K", t.depth) + Define("WORK_M", t.work_m) +
         Define("WORK_N", t.work_n) + Define("WIDE", t.wide) + Define("BUFFERS", t.buffers) +
         RegisterOption(session, t) + ReadingOptions(p, aligned);
}

/// As many rows as a kernel is built for.
Index RowsOf(const Product& p) {
  Index rows = 1;
  while (rows < p.m) rows *= 2;
  return rows;
}

Index WorkOf(const Product& p, const Lanes& l) {
  return p.b_columns ? std::clamp<Index>(Lanes::kMostSums / RowsOf(p), 1, l.work) : l.work;
}

/// Only what lies along B's rows is read in vectors.
bool IsAlignedForLanes(const Product& p) {
  return IsAligned(p.b.place) && (p.b_columns ? p.k % kVector == 0 && IsAligned(p.a.place) : p.n % kVector == 0);
}

std::string OptionsOf(const Session&, const Product& p, const Lanes& l) {
  return Define("ROWS", RowsOf(p)) + Define("LANES", l.lanes) + Define("LINES", l.lines) +
         Define("WORK", WorkOf(p, l)) + ReadingOptions(p, IsAlignedForLanes(p));
}

Index RoundUp(Index value, Index unit) { return (value + unit - 1) / unit * unit; }

/// How the depth is cut into parts, for work-groups enough to fill the device.
struct Parts {
  Index count, depth;
};

/// When the product has so many groups of so many items, which read `step` of the depth at once.
Parts PartsOf(const Session& session, const Product& p, Index groups, Index items, Index step) {
  constexpr Index kItemsOfGpuUnit = 1024, kGroupsOfCpuUnit = 2;  // what keeps a compute unit busy
  constexpr Index kLeastSteps = 4;                               // fewer would spend their time on the sums
  const auto units = static_cast<Index>(session.device().compute_units);
  const Index of_unit = session.device().type == "CPU" ? kGroupsOfCpuUnit : std::max<Index>(kItemsOfGpuUnit / items, 1);
  const Index most = std::max<Index>(p.k / (kLeastSteps * step), 1);
  const Index count = std::clamp<Index>(units * of_unit / groups, 1, most);
  const Index depth = RoundUp((p.k + count - 1) / count, step);
  return {(p.k + depth - 1) / depth, depth};
}

/// launch(c, bias, size), where the parts are to leave their sums in c, `size` apart; then adds these up.
template <class F>
void InParts(Session& session, const Product& p, const Parts& parts, const F& launch) {
  if (parts.count == 1) return launch(p.c, p.bias, Index{0});
  const Index size = p.head_count * p.m * p.n;
  const Operand sums{session.Allocate<float>(parts.count * size), DensePlace(p.heads, p.m, p.n)};
  launch(sums, Memory(), size);
  session.Launch(kPartsSource, "", "AddParts", {size, GroupItems(session)}, sums.buffer, p.c.buffer, p.bias, p.c.place,
                 p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{parts.count}, cl_long{size});
}

/// Where tiles of that size leave compute units idle, smaller ones are faster.
constexpr Index kMiddleTile = 64, kSmallRows = 64, kLargeTilesOfUnit = 4;

}  // namespace

ProductKind KindOf(const Session& session, const Product& p) {
  if (p.m <= Lanes::kMostRows) return p.b_columns ? ProductKind::kFewAlongDepth : ProductKind::kFewAlongColumns;
  if (p.m <= kSmallRows) return ProductKind::kSmall;
  const Index tiles =
      RoundUp(p.m, kMiddleTile) / kMiddleTile * (RoundUp(p.n, kMiddleTile) / kMiddleTile) * p.head_count;
  return tiles >= kLargeTilesOfUnit * static_cast<Index>(session.device().compute_units) ? ProductKind::kLarge
                                                                                         : ProductKind::kMiddle;
}

namespace {

/// The chosen candidate, or the first after it with which the compiled kernel runs in groups as large as it asks for.
template <class Candidate>
const Candidate& ChooseFor(Session& session, const Product& p, const Tunable& tunable,
                           std::span<const Candidate> candidates, const Source& source, const char* kernel) {
  std::size_t i = Choose(session, tunable);
  while (i + 1 < candidates.size() &&
         session.GroupItemsOf(source, OptionsOf(session, p, candidates[i]), kernel) < candidates[i].items())
    ++i;
  return candidates[i];
}

}  // namespace

void Multiply(Session& session, const Product& p, const Tile& t) {
  const Index items_m = t.m / t.work_m, items_n = t.n / t.work_n;
  const Index groups_m = (p.m + t.m - 1) / t.m, groups_n = (p.n + t.n - 1) / t.n;
  const Parts parts = PartsOf(session, p, groups_m * groups_n * p.head_count, t.items(), t.depth);
  const Grid grid{groups_n * groups_m * p.head_count * parts.count * items_n, items_n, items_m};
  InParts(session, p, parts, [&](const Operand& c, const Memory& bias, Index part_size) {
    session.Launch(kMatrixSource, OptionsOf(session, p, t), kTileKernel, grid, p.a.buffer, p.b.buffer, c.buffer, bias,
                   p.a.place, p.b.place, c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k},
                   cl_long{p.head_count}, cl_long{parts.depth}, cl_long{part_size});
  });
}

void Multiply(Session& session, const Product& p, const Lanes& l) {
  const Index columns = p.b_columns ? l.lines * WorkOf(p, l) : l.lanes * (IsAlignedForLanes(p) ? kVector : 1);
  const Index groups = (p.n + columns - 1) / columns;
  const Parts parts =
      PartsOf(session, p, groups * p.head_count, l.items(), p.b_columns ? l.lanes * kVector : l.lines * l.work);
  const Grid grid{groups * parts.count * p.head_count * l.lanes, l.lanes, l.lines};
  InParts(session, p, parts, [&](const Operand& c, const Memory& bias, Index part_size) {
    session.Launch(kVectorsSource, OptionsOf(session, p, l), kLanesKernel, grid, p.a.buffer, p.b.buffer, c.buffer, bias,
                   p.a.place, p.b.place, c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k},
                   cl_long{parts.depth}, cl_long{part_size});
  });
}

void Multiply(Session& session, const Product& p) {
  if (!MultiplyOnMatrixUnits(session, p)) MultiplyWithoutUnits(session, p);
}

void MultiplyWithoutUnits(Session& session, const Product& p) {
  const ProductKind kind = KindOf(session, p);
  const Tunable& tunable = ProductTunables()[static_cast<std::size_t>(kind)];
  if (p.m <= Lanes::kMostRows) {
    Multiply(session, p, ChooseFor(session, p, tunable, LanesFor(p.b_columns), kVectorsSource, kLanesKernel));
  } else {
    Multiply(session, p, ChooseFor(session, p, tunable, Tiles(), kMatrixSource, kTileKernel));
  }
}

/// 16-bit floats are whole numbers in memory or are read by vload_half: devices need no extension for them.
std::string ElementOptions(DType type) {
  switch (type) {
    case DType::kF16:
      return "-D ELEMENT=half -D VALUE(p,i)=vload_half(i,p) -D VALUES(p)=vloada_half4(0,p) ";
    case DType::kBF16:
      return "-D ELEMENT=ushort -D VALUE(p,i)=as_float((uint)(p)[i]<<16) "
             "-D VALUES(p)=as_float4(convert_uint4(*(Shorts4)(p))<<16) ";
    default:
      return "-D ELEMENT=float -D VALUE(p,i)=(p)[i] -D VALUES(p)=(*(Floats4)(p)) ";
  }
}

std::string Define(const char* name, Index value) {
  return std::string("-D ") + name + "=" + std::to_string(value) + " ";
}

std::string MostRegisters(const Session& session, Index count) {
  const auto& extensions = session.device().extensions;
  const bool can = std::find(extensions.begin(), extensions.end(), "cl_nv_compiler_options") != extensions.end();
  return can ? "-cl-nv-maxrregcount=" + std::to_string(count) + " " : "";
}

Index GroupItems(const Session& session) {
  Index items = 128;
  while (items > session.group_items()) items /= 2;
  return items;
}

std::string GroupOption(const Session& session) { return Define("GROUP_ITEMS", GroupItems(session)); }

}  // namespace headlens::opencl
