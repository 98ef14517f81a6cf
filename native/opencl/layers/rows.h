// SPDX-License-Identifier: Apache-2.0
/// Matrices on the device: those that live there, and copies of the host's matrices.
#ifndef HEADLENS_NATIVE_OPENCL_LAYERS_ROWS_H_
#define HEADLENS_NATIVE_OPENCL_LAYERS_ROWS_H_

#include <algorithm>

#include "gpu/pieces.h"
#include "opencl/matrix/operand.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// Rows of a matrix from element `first` of a buffer on, which are `stride` elements apart.
struct DeviceRows {
  Memory buffer;
  cl_long first, stride;

  Operand AsOperand() const { return {buffer, gpu::MatrixPlace(stride, first)}; }
};

/// The rows of a resident, or a copy of the host's.
DeviceRows Read(Session& session, const DeviceView<const float, 2>& x);

/// Calls compute(rows), and y becomes what it leaves in them: y's own rows where y is a resident.
template <class F>
void Write(Session& session, const DeviceView<float, 2>& y, const F& compute) {
  if (const auto found = session.FindToWrite(y.data))
    return compute(DeviceRows{found->buffer, found->first, y.strides[0]});
  const DeviceRows rows{session.Allocate<float>(y.shape[0] * y.shape[1]), 0, y.shape[1]};
  compute(rows);
  session.Download(rows.buffer, 0, y.shape[0], y.shape[1], y.data.host(), y.strides[0]);
}

/// Calls change(rows) with x's rows on the device, and x becomes what it makes of them.
template <class F>
void Change(Session& session, const DeviceView<float, 2>& x, const F& change) {
  const DeviceRows rows = Read(session, x);
  const bool resident = session.FindToWrite(x.data).has_value();
  change(rows);
  if (!resident) session.Download(rows.buffer, 0, x.shape[0], x.shape[1], x.data.host(), x.strides[0]);
}

/// Calls f(first, count) for pieces of `rows` rows, as many at a time as the memory for a step holds.
template <class F>
void InSteps(const Session& session, Index rows, Index floats_a_row, const F& f) {
  const Index bytes = std::max<Index>(floats_a_row, 1) * static_cast<Index>(sizeof(float));
  gpu::InPieces(rows, std::max<Index>(session.step_memory() / bytes, 1), f);
}

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_LAYERS_ROWS_H_
