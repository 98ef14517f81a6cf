// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/parts.h"

#include <algorithm>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"

namespace headlens::opencl {

Parts PartsOf(const Session& session, const Product& p, Index groups, Index items, Index step) {
  constexpr Index kItemsOfGpuUnit = 1024, kGroupsOfCpuUnit = 2;  // so many keep a compute unit busy
  constexpr Index kLeastSteps = 4;                               // with fewer, most of the time would go to the sums
  const Index of_unit = session.is_cpu() ? kGroupsOfCpuUnit : std::max<Index>(kItemsOfGpuUnit / items, 1);
  const Index most = std::max<Index>(p.k / (kLeastSteps * step), 1);
  const Index count = std::clamp<Index>(session.compute_units() * of_unit / groups, 1, most);
  const Index depth = CountOf(CountOf(p.k, count), step) * step;
  return {CountOf(p.k, depth), depth};
}

void AddParts(Session& session, const Product& p, const Parts& parts, const Operand& sums, Index size) {
  session.Launch(kPartsSource, "", "AddParts", {size, GroupItems(session)}, sums.buffer, p.c.buffer, p.bias, p.c.place,
                 p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{parts.count}, cl_long{size});
}

}  // namespace headlens::opencl
