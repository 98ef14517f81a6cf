// SPDX-License-Identifier: Apache-2.0
#include "opencl/layers/layers.h"

#include <vector>

#include "gpu/core.h"
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
void Norm(Session& session, const View<const float, 2>& x, const View<float, 2>& y, const F& launch) {
  InSteps(session, x.shape[0], x.shape[1], [&](Index first, Index count) {
    const DeviceRows from = Read(session, Rows(x, first, count));
    Write(session, Rows(y, first, count),
          [&](const DeviceRows& to) { launch(ForEach(session, count * GroupItems(session)), from, to); });
  });
}

/// Turns [steps, heads, width] from an element on, with the strides of x.
void Rotate(Session& session, const Elements& at, const View<float, 3>& x, const View<const float, 2>& cosine,
            const View<const float, 2>& sine, RotaryPairs pairs) {
  const auto& [steps, heads, width] = x.shape;
  const Index all = steps * heads * (width / 2);
  const DeviceRows c = Read(session, cosine), s = Read(session, sine);
  session.Launch(kLayersSource, GroupOption(session), "Rotate", ForEach(session, all), at.buffer, cl_long{at.first},
                 cl_long{x.strides[0]}, cl_long{x.strides[1]}, c.buffer, c.first, c.stride, s.buffer, s.first, s.stride,
                 cl_long{heads}, cl_long{width / 2}, cl_long{all}, cl_int{pairs == RotaryPairs::kInterleaved});
}

void RotateHost(Session& session, const View<float, 3>& x, const View<const float, 2>& cosine,
                const View<const float, 2>& sine, RotaryPairs pairs) {
  std::vector<float> dense = DenseHeads(BatchOfOne<const float>(x));
  const Memory buffer = session.Upload(std::span<const float>(dense));
  Rotate(session, {buffer, 0}, DenseView(x.data, x.shape), cosine, sine, pairs);
  const auto size = static_cast<Index>(dense.size());
  session.Download(buffer, 0, 1, size, dense.data(), size);
  Copy(DenseView(dense.data(), x.shape), x);
}

}  // namespace

void RunRmsNorm(Session& session, const View<const float, 2>& x, std::span<const float> weight, float eps,
                const View<float, 2>& y) {
  Norm(session, x, y, [&](const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
    const Elements w = session.OnDevice(weight);
    session.Launch(kLayersSource, GroupOption(session), "RmsNorm", grid, from.buffer, from.first, from.stride, w.buffer,
                   cl_long{w.first}, cl_float{eps}, cl_long{x.shape[1]}, to.buffer, to.first, to.stride);
  });
}

void RunLayerNorm(Session& session, const View<const float, 2>& x, std::span<const float> weight,
                  std::span<const float> bias, float eps, const View<float, 2>& y) {
  Norm(session, x, y, [&](const Grid& grid, const DeviceRows& from, const DeviceRows& to) {
    const Elements w = session.OnDevice(weight), b = bias.empty() ? Elements() : session.OnDevice(bias);
    session.Launch(kLayersSource, GroupOption(session), "LayerNorm", grid, from.buffer, from.first, from.stride,
                   w.buffer, cl_long{w.first}, b.buffer, cl_long{b.first}, cl_float{eps}, cl_long{x.shape[1]},
                   to.buffer, to.first, to.stride);
  });
}

void RunRotary(Session& session, const View<float, 3>& x, const View<const float, 2>& cosine,
               const View<const float, 2>& sine, RotaryPairs pairs) {
  const Index steps = x.shape[0], heads = x.shape[1], width = x.shape[2];
  if (const auto found = session.residents().Find(x.data, /*writes=*/true))
    return Rotate(session, *found, x, cosine, sine, pairs);
  InSteps(session, steps, heads * width, [&](Index first, Index count) {
    RotateHost(session, {x.at(first), {count, heads, width}, x.strides}, Rows(cosine, first, count),
               Rows(sine, first, count), pairs);
  });
}

void RunElements(Session& session, const char* kernel, std::span<float> x, std::optional<std::span<const float>> y) {
  InSteps(session, static_cast<Index>(x.size()), 1, [&](Index first, Index count) {
    const auto begin = static_cast<std::size_t>(first), length = static_cast<std::size_t>(count);
    Change(session, {x.data() + first, {1, count}, {count, 1}}, [&](const DeviceRows& rows) {
      const Grid grid = ForEach(session, count);
      if (y) {
        const Elements other = session.OnDevice(y->subspan(begin, length));
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, other.buffer,
                       cl_long{other.first}, cl_long{count});
      } else {
        session.Launch(kLayersSource, GroupOption(session), kernel, grid, rows.buffer, rows.first, cl_long{count});
      }
    });
  });
}

/// A copy to the host goes by way of the host. One to the device keeps the rounded numbers of its target up to date,
/// too.
void RunCopy(Session& session, const View<const float, 4>& from, const View<float, 4>& to) {
  const Index batch = from.shape[0], heads = from.shape[1], rows = from.shape[2], width = from.shape[3];
  const Index count = batch * heads * rows * width;
  const Memory rounded = session.residents().Rounded(to.data);
  const auto target = session.residents().Find(to.data, /*writes=*/true);
  const auto source = session.residents().Find(from.data);
  if (!target) {
    if (source) session.Fetch(from.data);
    return Copy(from, to);
  }
  const gpu::Heads all{0, heads, 1};
  const std::vector<float> dense = source ? std::vector<float>() : DenseHeads(from);
  const gpu::Place place = gpu::HeadsPlace(target->first, to);
  session.Launch(kLayersSource, GroupOption(session), "CopyHeads", ForEach(session, count),
                 source ? source->buffer : session.Upload(std::span<const float>(dense)),
                 source ? gpu::HeadsPlace(source->first, from) : gpu::DensePlace(all, rows, width), target->buffer,
                 place, all, cl_long{rows}, cl_long{width}, cl_long{count});
  if (!rounded) return;
  RoundRows(session, {all, batch * heads, rows, width}, {target->buffer, place}, width, {rounded, place}, Memory());
  session.residents().KeepRounded(to.data, rounded);
}

void RunPool(Session& session, const View<const float, 2>& x, const Backend::Pooling& pooling,
             const View<float, 2>& y) {
  const DeviceRows from = Read(session, x);
  Write(session, y, [&](const DeviceRows& to) {
    const Index items = GroupItems(session);
    session.Launch(kLayersSource, GroupOption(session), "Pool", {y.shape[1] * y.shape[0] * items, items}, from.buffer,
                   from.first, from.stride, cl_long{x.shape[1]}, cl_long{pooling.first_row}, cl_long{pooling.rows},
                   cl_long{pooling.first_block}, cl_long{pooling.row_blocks}, cl_long{y.shape[1]}, to.buffer, to.first,
                   to.stride);
  });
}

}  // namespace headlens::opencl
