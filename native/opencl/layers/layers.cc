// SPDX-License-Identifier: Apache-2.0
#include "opencl/layers/layers.h"

#include <vector>

#include "backends/parts.h"
#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/layers/rows.h"
#include "opencl/matrix/rounding.h"

namespace headlens::opencl {
namespace {

std::vector<float> DenseHeads(const View<const float, 4>& x) {
  std::vector<float> dense(static_cast<std::size_t>(ElementCount(SizesOf(x))));
  Copy(x, DenseView(dense.data(), x.shape));
  return dense;
}

/// y = launch(grid, x, y), with a work-group for each row.
template <class F>
void Norm(Session& session, const DeviceView<const float, 2>& x, const DeviceView<float, 2>& y, const F& launch) {
  InSteps(session, x.shape[0], x.shape[1], [&](Index first, Index count) {
    const DeviceRows from = Read(session, Rows(x, first, count));
    Write(session, Rows(y, first, count),
          [&](const DeviceRows& to) { launch(ForEach(session, count * GroupItems(session)), from, to); });
  });
}

/// Turns [steps, heads, width] from an element on, with the strides of x.
void Rotate(Session& session, const Elements& at, const DeviceView<float, 3>& x,
            const DeviceView<const float, 2>& cosine, const DeviceView<const float, 2>& sine, RotaryPairs pairs) {
  const auto& [steps, heads, width] = x.shape;
  const Index all = steps * heads * (width / 2);
  const DeviceRows c = Read(session, cosine), s = Read(session, sine);
  session.Launch(kLayersSource, GroupOption(session), "Rotate", ForEach(session, all), at.buffer, cl_long{at.first},
                 cl_long{x.strides[0]}, cl_long{x.strides[1]}, c.buffer, c.first, c.stride, s.buffer, s.first, s.stride,
                 cl_long{heads}, cl_long{width / 2}, cl_long{all}, cl_int{pairs == RotaryPairs::kInterleaved});
}

void RotateHost(Session& session, const View<float, 3>& x, const DeviceView<const float, 2>& cosine,
                const DeviceView<const float, 2>& sine, RotaryPairs pairs) {
  std::vector<float> dense = DenseHeads(BatchOfOne(x));
  const Memory buffer = session.Upload(std::span<const float>(dense));
  Rotate(session, {buffer, 0}, DenseView(x.data, x.shape), cosine, sine, pairs);
  const auto size = static_cast<Index>(dense.size());
  session.Download(buffer, 0, 1, size, dense.data(), size);
  Copy(DenseView(dense.data(), x.shape), x);
}

}  // namespace

void RunRmsNorm(Session& session, const DeviceView<const float, 2>& x, const DeviceView<const float, 1>& weight,
                float eps, const DeviceView<float, 2>& y) {
  Norm(session, x, y, [&](const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
    const Elements w = session.OnDevice(weight);
    session.Launch(kLayersSource, GroupOption(session), "RmsNorm", grid, from.buffer, from.first, from.stride, w.buffer,
                   cl_long{w.first}, cl_float{eps}, cl_long{x.shape[1]}, to.buffer, to.first, to.stride);
  });
}

void RunLayerNorm(Session& session, const DeviceView<const float, 2>& x, const DeviceView<const float, 1>& weight,
                  const DeviceView<const float, 1>& bias, float eps, const DeviceView<float, 2>& y) {
  Norm(session, x, y, [&](const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
    const Elements w = session.OnDevice(weight), b = bias.shape[0] > 0 ? session.OnDevice(bias) : Elements();
    session.Launch(kLayersSource, GroupOption(session), "LayerNorm", grid, from.buffer, from.first, from.stride,
                   w.buffer, cl_long{w.first}, b.buffer, cl_long{b.first}, cl_float{eps}, cl_long{x.shape[1]},
                   to.buffer, to.first, to.stride);
  });
}

void RunRotary(Session& session, const DeviceView<float, 3>& x, const DeviceView<const float, 2>& cosine,
               const DeviceView<const float, 2>& sine, RotaryPairs pairs) {
  const Index steps = x.shape[0], heads = x.shape[1], width = x.shape[2];
  if (const auto found = session.FindToWrite(x.data)) return Rotate(session, *found, x, cosine, sine, pairs);
  InSteps(session, steps, heads * width, [&](Index first, Index count) {
    RotateHost(session, {x.at(first).host(), {count, heads, width}, x.strides}, Rows(cosine, first, count),
               Rows(sine, first, count), pairs);
  });
}

void RunElements(Session& session, const char* kernel, const DeviceView<float, 1>& x,
                 const DeviceView<const float, 1>& y) {
  InSteps(session, x.shape[0], 1, [&](Index first, Index count) {
    Change(session, {x.at(first), {1, count}, {count, 1}}, [&](const DeviceRows& rows) {
      const Grid grid = ForEach(session, count);
      if (y) {
        const Elements other = session.OnDevice({y.at(first), {count}, {1}});
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, other.buffer,
                       cl_long{other.first}, cl_long{count});
      } else {
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, cl_long{count});
      }
    });
  });
}

/// Elements that come from the host or go there do so dense. A copy to the device keeps the rounded numbers of its
/// target up to date, too.
void RunCopy(Session& session, const DeviceView<const float, 4>& from, const DeviceView<float, 4>& to) {
  const Index batch = from.shape[0], heads = from.shape[1], rows = from.shape[2], width = from.shape[3];
  const Index count = batch * heads * rows * width;
  Resident* const resident = session.ResidentOf(to.data.storage);
  const Memory rounded = resident ? resident->rounded : Memory();
  const auto target = session.FindToWrite(to.data), source = session.Find(from.data);
  if (!target && !source) return Copy(from.host(), to.host());
  const gpu::Heads all{0, heads, 1};
  const gpu::Place dense_place = gpu::DensePlace(all, rows, width);
  std::vector<float> dense = source ? std::vector<float>() : DenseHeads(from.host());
  const Operand read{source ? source->buffer : session.Upload(std::span<const float>(dense)),
                     source ? gpu::HeadsPlace(source->first, from) : dense_place};
  const Operand written{target ? target->buffer : session.Allocate<float>(count),
                        target ? gpu::HeadsPlace(target->first, to) : dense_place};
  session.Launch(kLayersSource, GroupOption(session), "CopyHeads", ForEach(session, count), read.buffer, read.place,
                 written.buffer, written.place, all, cl_long{rows}, cl_long{width}, cl_long{count});
  if (!target) {
    dense.resize(static_cast<std::size_t>(count));
    session.Download(written.buffer, 0, 1, count, dense.data(), count);
    return Copy(DenseView<const float, 4>(dense.data(), from.shape), to.host());
  }
  if (!rounded) return;
  RoundRows(session, {all, batch * heads, rows, width}, written, width, {rounded, written.place}, Memory());
  resident->rounded = rounded;
}

void RunPool(Session& session, const DeviceView<const float, 2>& x, const Backend::Pooling& pooling,
             const DeviceView<float, 2>& y) {
  const DeviceRows from = Read(session, x);
  Write(session, y, [&](const DeviceRows& to) {
    const Index items = GroupItems(session);
    session.Launch(kLayersSource, GroupOption(session), "Pool", {y.shape[1] * y.shape[0] * items, items}, from.buffer,
                   from.first, from.stride, cl_long{x.shape[1]}, cl_long{pooling.first_row}, cl_long{pooling.rows},
                   cl_long{pooling.first_block}, cl_long{pooling.row_blocks}, cl_long{y.shape[1]},
                   cl_int{pooling.kind == PoolKind::kMax}, to.buffer, to.first, to.stride);
  });
}

}  // namespace headlens::opencl
