// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/lanes.h"

#include <algorithm>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/parts.h"

namespace headlens::opencl {
namespace {

constexpr char kKernel[] = "MultiplyFew";

/// The rows that the kernel is built for: the next power of two.
Index RowsOf(const Product& p) {
  Index rows = 1;
  while (rows < p.m) rows *= 2;
  return rows;
}

Index WorkOf(const Product& p, const Lanes& l) {
  return p.b_columns ? std::clamp<Index>(Lanes::kMostSums / RowsOf(p), 1, l.work) : l.work;
}

/// Only what lies along B's rows is read in vectors.
bool IsAligned(const Product& p) {
  if (!gpu::IsAligned(p.b.place)) return false;
  return p.b_columns ? p.k % gpu::kVector == 0 && gpu::IsAligned(p.a.place) : p.n % gpu::kVector == 0;
}

std::string OptionsOf(const Product& p, const Lanes& l) {
  return Define("ROWS", RowsOf(p)) + Define("LANES", l.lanes) + Define("LINES", l.lines) +
         Define("WORK", WorkOf(p, l)) + ReadingOptions(p, IsAligned(p));
}

}  // namespace

std::string NameOf(const Lanes& l) {
  return "items " + std::to_string(l.lanes) + "x" + std::to_string(l.lines) + " work " + std::to_string(l.work);
}

bool Fits(const Session& session, const Lanes& l, bool b_columns) {
  return l.items() <= session.group_items() && l.local_memory(b_columns) <= session.local_memory();
}

bool RunsWhole(Session& session, const Product& p, const Lanes& l) {
  return session.GroupItemsOf(kVectorsSource, OptionsOf(p, l), kKernel) >= l.items();
}

void Multiply(Session& session, const Product& p, const Lanes& l) {
  const Index columns = p.b_columns ? l.lines * WorkOf(p, l) : l.lanes * (IsAligned(p) ? gpu::kVector : 1);
  const Index groups = CountOf(p.n, columns) * p.head_count;
  const Parts parts = PartsOf(session, p, groups, l.items(), p.b_columns ? l.lanes * gpu::kVector : l.lines * l.work);
  const Grid grid{groups * parts.count * l.lanes, l.lanes, l.lines};
  InParts(session, p, parts, [&](const Operand& c, const Memory& bias, Index part_size) {
    session.Launch(kVectorsSource, OptionsOf(p, l), kKernel, grid, p.a.buffer, p.b.buffer, c.buffer, bias, p.a.place,
                   p.b.place, c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k}, cl_long{parts.depth},
                   cl_long{part_size});
  });
}

}  // namespace headlens::opencl
