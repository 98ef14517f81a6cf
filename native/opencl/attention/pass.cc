// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/pass.h"

#include <span>
#include <utility>
#include <vector>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"

namespace headlens::opencl {

using gpu::QueryRange;

DevicePass::DevicePass(Session& session, const gpu::AttentionPlan& plan, const CallInputs& call, gpu::Pass pass)
    : session_(session),
      plan_(plan),
      pass_(std::move(pass)),
      inputs_(session, plan.problem(), call, pass_),
      k_(Keys(plan.problem().k.floats())) {
  if (plan.value_width() > 0) v_ = Keys(plan.problem().v.floats());
}

Operand DevicePass::Keys(const DeviceView<const float, 4>& view) const {
  if (const auto found = session_.Find(view.data)) return {found->buffer, gpu::HeadsPlace(found->first, view)};
  const std::vector<float> rows = gpu::PackKeys(view.host(), pass_);
  return {session_.Upload(std::span<const float>(rows)),
          gpu::SharedByMembers(gpu::DensePlace(pass_.key_heads(), plan_.keys(), view.shape[3]))};
}

Operand DevicePass::Queries(const QueryRange& rows) const {
  const DeviceView<const float, 4>& q = plan_.problem().q;
  if (const auto found = session_.Find(q.data))
    return {found->buffer, plan_.QueryPlace(found->first + rows.first * q.strides[2], q)};
  const std::vector<float> all = gpu::PackQueries(q.host(), pass_, rows);
  return {session_.Upload(std::span<const float>(all)), gpu::DensePlace(pass_.launched, rows.count, plan_.width())};
}

Operand DevicePass::Output(const QueryRange& rows) const {
  const DeviceView<float, 4>& output = plan_.results().output;
  if (const auto found = session_.FindToWrite(output.data))
    return {found->buffer, plan_.QueryPlace(found->first + rows.first * output.strides[2], output)};
  return {session_.Allocate<float>(pass_.head_count() * rows.count * plan_.value_width()),
          gpu::DensePlace(pass_.launched, rows.count, plan_.value_width())};
}

void DevicePass::StoreOutput(const Operand& output, const QueryRange& rows) const {
  const DeviceView<float, 4>& to = plan_.results().output;
  if (!to.data.storage) Store(output.buffer, rows, plan_.value_width(), to);
}

void DevicePass::Store(const Memory& from, const QueryRange& rows, Index width, const DeviceView<float, 4>& to) const {
  if (!to) return;
  for (std::size_t z = 0; z < pass_.heads.size(); ++z) {
    const Index first = static_cast<Index>(z) * rows.count;
    const DevicePointer<float> begin = to.at(pass_.heads[z].b, pass_.heads[z].h, rows.first);
    if (const auto found = session_.FindToWrite(begin)) {
      session_.CopyRows({from, first * width}, width, *found, to.strides[2], rows.count, width);
    } else {
      session_.Download(from, first, rows.count, width, begin.host(), to.strides[2]);
    }
  }
}

void DevicePass::StoreLse(const Memory& from, const QueryRange& rows) const {
  const View<float, 3>& to = plan_.results().lse;
  if (!to) return;
  std::vector<float> all(pass_.heads.size() * static_cast<std::size_t>(rows.count));
  session_.Download(from, 0, 1, static_cast<Index>(all.size()), all.data(), 0);
  const float* next = all.data();
  for (const gpu::Head& head : pass_.heads)
    for (Index i = 0; i < rows.count; ++i) to(head.b, head.h, rows.first + i) = *next++;
}

void DevicePass::FindUnusual(const Operand& rows, Index width, const Memory& unusual) const {
  const Index count = pass_.groups * plan_.keys() * width;
  session_.Launch(kLayersSource, GroupOption(session_), "FindUnusual", ForEach(session_, count), rows.buffer,
                  rows.place, pass_.key_heads(), cl_long{plan_.keys()}, cl_long{width}, cl_long{count}, unusual);
}

Memory NothingUnusual(Session& session) {
  const cl_uint none = 0;
  return session.Upload(std::span(&none, 1));
}

bool IsUnusual(Session& session, const Memory& unusual) {
  cl_uint found = 0;
  session.DownloadBytes(unusual, 0, sizeof found, &found);
  return found != 0;
}

}  // namespace headlens::opencl
