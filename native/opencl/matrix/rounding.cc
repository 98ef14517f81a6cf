// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/rounding.h"

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"

namespace headlens::opencl {
namespace {

constexpr Index kWide = 8;  // numbers of a work-item, which are 16 bytes when they are rounded

Index PaddedWidth(const RoundedRows& which) { return (which.width + kWide - 1) / kWide * kWide; }

}  // namespace

void RoundRows(Session& session, const RoundedRows& which, const Operand& from, Index padded, const Operand& to,
               const Memory& unusual) {
  const Index count = which.head_count * which.rows * ((padded + kWide - 1) / kWide);
  const std::string options = GroupOption(session) + HalvesOption(session.precision()) + ElementOptions(which.type);
  session.Launch(kRoundSource, options, "Round", ForEach(session, count), from.buffer, from.place, which.heads,
                 cl_long{which.rows}, cl_long{which.width}, cl_long{padded}, cl_long{count}, to.buffer, to.place,
                 unusual);
}

gpu::Place RoundedPlace(const RoundedRows& which) {
  return gpu::DensePlace(which.heads, which.rows, PaddedWidth(which));
}

Operand RoundRows(Session& session, const RoundedRows& which, const Operand& from, const Memory& unusual) {
  const Index padded = PaddedWidth(which);
  const Operand to{session.Allocate<cl_ushort>(which.head_count * which.rows * padded), RoundedPlace(which)};
  RoundRows(session, which, from, padded, to, unusual);
  return to;
}

}  // namespace headlens::opencl
