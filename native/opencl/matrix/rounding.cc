// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/rounding.h"

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"

namespace headlens::opencl {

void RoundRows(Session& session, const RoundedRows& which, const Operand& from, Index padded, const Operand& to,
               const Memory& unusual) {
  const Index count = which.head_count * which.rows * padded;
  session.Launch(kRoundSource, GroupOption(session) + HalvesOption(session.precision()), "Round",
                 ForEach(session, count), from.buffer, from.place, which.heads, cl_long{which.rows},
                 cl_long{which.width}, cl_long{padded}, cl_long{count}, to.buffer, to.place, unusual);
}

Operand RoundRows(Session& session, const RoundedRows& which, const Operand& from, const Memory& unusual) {
  const Index padded = (which.width + 7) / 8 * 8;
  const Operand to{session.Allocate<cl_ushort>(which.head_count * which.rows * padded),
                   gpu::DensePlace(which.heads, which.rows, padded)};
  RoundRows(session, which, from, padded, to, unusual);
  return to;
}

}  // namespace headlens::opencl
