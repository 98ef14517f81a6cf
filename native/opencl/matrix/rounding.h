// SPDX-License-Identifier: Apache-2.0
/// Numbers of 16 bits on the device. The precision of the session says which.
#ifndef HEADLENS_NATIVE_OPENCL_MATRIX_ROUNDING_H_
#define HEADLENS_NATIVE_OPENCL_MATRIX_ROUNDING_H_

#include "opencl/matrix/operand.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// The rows of heads that are rounded: `rows` rows of `width` numbers of this type for each of `head_count` heads.
struct RoundedRows {
  gpu::Heads heads;
  Index head_count, rows, width;
  DType type = DType::kF32;
};

/// Writes the rows to `to` in 16 bits, where each has `padded` numbers: 0 follows the first `width`. Sets `unusual`,
/// where that is not null, when a number is too large.
void RoundRows(Session& session, const RoundedRows& which, const Operand& from, Index padded, const Operand& to,
               const Memory& unusual);

/// Returns dense rows in 16 bits, padded to multiples of 16 bytes so that they can be read in pieces of these. Sets
/// `unusual` when a number is too large.
Operand RoundRows(Session& session, const RoundedRows& which, const Operand& from, const Memory& unusual);

/// The place of such dense rows.
gpu::Place RoundedPlace(const RoundedRows& which);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_MATRIX_ROUNDING_H_
