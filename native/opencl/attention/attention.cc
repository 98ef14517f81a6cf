// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/attention.h"

#include "gpu/pieces.h"
#include "opencl/attention/cells.h"

namespace headlens::opencl {
namespace {

/// Computes all rows of a pass. They go without cells for as long as all numbers are finite.
void RunPass(Session& session, const gpu::AttentionPlan& plan, const CallInputs& inputs,
             const std::optional<OnlineChoice>& choice, gpu::Pass pass) {
  const Mask& mask = plan.problem().mask;
  const bool has_cells = !choice || mask.boolean || mask.additive;
  const Index together = plan.RowsTogether(pass, has_cells, session.step_memory());
  const DevicePass on_device(session, plan, inputs, std::move(pass));
  std::optional<OnlinePass> online;
  std::optional<CellPass> cells;
  if (choice) online.emplace(on_device, *choice);
  gpu::InPieces(plan.queries(), together, [&](Index first, Index count) {
    if (online && online->Run({first, count})) return;
    online.reset();
    if (!cells) cells.emplace(on_device);
    cells->Run({first, count});
  });
}

/// A view of floats: of those elements, or of a copy, which `copy` then holds.
KeyValueView AsFloats(const KeyValueView& view, Tensor& copy) {
  if (view.dtype == DType::kF32) return view;
  copy = ToFloat(view);
  return copy.view<4>();
}

/// Without any cell there is nothing to compute, but there may be rows to fill. The host does that.
void FillRows(Session& session, const AttentionProblem& problem, const AttentionResults& results) {
  const auto& [batch, heads, queries, width] = problem.q.shape;
  const float no_number = 0.0f;  // in place of queries, which are not read
  AttentionProblem on_host = problem;
  on_host.q = {&no_number, problem.q.shape, {}};
  AttentionResults filled = results;
  filled.weights = {};  // none
  const DeviceView<float, 4>& output = results.output;
  if (!output.data.storage) return RunReferenceAttention(on_host, filled);
  const Tensor rows(SizesOf(output));
  filled.output = rows.view<4>();
  RunReferenceAttention(on_host, filled);
  const Index head_size = queries * output.shape[3];
  if (head_size == 0) return;
  const Memory from = session.Upload(std::span<const float>(rows.values()));
  for (Index i = 0; i < batch * heads; ++i) {
    const auto to = session.FindToWrite(output.at(i / heads, i % heads));
    session.CopyRows({from, i * head_size}, output.shape[3], *to, output.strides[2], queries, output.shape[3]);
  }
}

}  // namespace

void RunAttention(Session& session, const AttentionProblem& problem, const AttentionResults& results,
                  const std::optional<AttentionKernel>& kernel) {
  const auto& [batch, heads, queries, width] = problem.q.shape;
  if (batch == 0 || heads == 0 || queries == 0 || problem.k.shape[2] == 0) return FillRows(session, problem, results);
  Tensor k, v;
  AttentionProblem floats = problem;
  floats.k = AsFloats(problem.k, k);
  floats.v = AsFloats(problem.v, v);
  const gpu::AttentionPlan plan(floats, results);
  const std::optional<OnlineChoice> choice = ChooseOnline(session, plan, kernel);
  const CallInputs inputs(session, floats);
  const Index all = plan.batch() * plan.groups();
  gpu::InPieces(all, plan.GroupsTogether(session.step_memory()), [&](Index first, Index count) {
    RunPass(session, plan, inputs, choice, plan.PassOf(first, first + count));
  });
}

}  // namespace headlens::opencl
