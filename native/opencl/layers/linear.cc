// SPDX-License-Identifier: Apache-2.0
/// Linear layers, and rows of their weights.
#include <algorithm>
#include <vector>

#include "backends/parts.h"
#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/layers/layers.h"
#include "opencl/layers/rows.h"
#include "opencl/matrix/multiply.h"

namespace headlens::opencl {
namespace {

/// y = the bias in every row: a product over nothing.
void FillWithBias(Session& session, std::span<const float> bias, const DeviceView<float, 2>& y) {
  std::vector<float> row(static_cast<std::size_t>(y.shape[1]), 0.0f);
  std::copy(bias.begin(), bias.end(), row.begin());
  const Memory values = session.Upload(std::span<const float>(row));
  Write(session, y, [&](const DeviceRows& to) {
    for (Index i = 0; i < y.shape[0]; ++i)
      session.CopyRows({values, 0}, y.shape[1], {to.buffer, to.first + i * to.stride}, to.stride, 1, y.shape[1]);
  });
}

}  // namespace

void RunLinear(Session& session, const DeviceView<const float, 2>& x, const DeviceWeights& weights,
               const DeviceView<float, 2>& y) {
  const std::vector<DeviceWeights::Piece>& pieces = weights.pieces(session);
  const Index in = x.shape[1];
  InSteps(session, x.shape[0], std::max(in, y.shape[1]), [&](Index first, Index count) {
    if (in == 0) return FillWithBias(session, weights.bias(), Rows(y, first, count));
    const DeviceRows a = Read(session, Rows(x, first, count));
    for (const DeviceWeights::Piece& piece : pieces)
      Write(session, {y.at(first, piece.first), {count, piece.count}, y.strides}, [&](const DeviceRows& c) {
        Multiply(session, {.a = a.AsOperand(),
                           .b = {piece.weights, gpu::MatrixPlace(in)},
                           .c = c.AsOperand(),
                           .m = count,
                           .n = piece.count,
                           .k = in,
                           .b_columns = true,
                           .b_type = weights.type(),
                           .bias = piece.bias,
                           .rounds = true,
                           .b_rounded = &piece.rounded});
      });
  });
}

void RunCopyRows(Session& session, const DeviceWeights& weights, std::span<const std::int32_t> rows,
                 const DeviceView<float, 2>& y) {
  const std::vector<DeviceWeights::Piece>& pieces = weights.pieces(session);
  const Index width = y.shape[1];
  InSteps(session, y.shape[0], width, [&](Index first, Index count) {
    const Memory ids = session.Upload(rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    Write(session, Rows(y, first, count), [&](const DeviceRows& to) {
      for (const DeviceWeights::Piece& piece : pieces)
        session.Launch(kWeightsSource, GroupOption(session) + ElementOptions(weights.type()), "CopyRows",
                       ForEach(session, count * width), piece.weights, cl_long{piece.first}, cl_long{piece.count}, ids,
                       cl_long{width}, to.buffer, to.first, to.stride, cl_long{count * width});
    });
  });
}

}  // namespace headlens::opencl
