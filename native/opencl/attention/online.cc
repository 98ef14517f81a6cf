// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/online.h"

#include <algorithm>
#include <numbers>
#include <span>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/rounding.h"

namespace headlens::opencl {

using gpu::QueryRange;

std::optional<OnlineChoice> ChooseOnline(Session& session, const gpu::AttentionPlan& plan,
                                         const std::optional<AttentionKernel>& kernel) {
  if (!plan.suits_online()) return std::nullopt;
  const std::optional<Index> width = gpu::OnlineWidth(std::max(plan.width(), plan.value_width()));
  if (!width) return std::nullopt;
  const Index group_rows = plan.members() * plan.queries();
  const auto* const given = kernel ? std::get_if<OnlineTile>(&*kernel) : nullptr;
  const auto tile = given ? std::optional(*given) : ChooseOnlineTile(session, *width, group_rows);
  if (!tile) return std::nullopt;
  OnlineChoice choice{{*tile, *width}, std::nullopt, false};
  if (!kernel && plan.SuitsMatrixUnits()) choice.units = ChooseFusedTile(session, {*width, plan.ChangesScores()});
  if (kernel && std::holds_alternative<FusedTile>(*kernel)) choice.units = std::get<FusedTile>(*kernel);
  choice.rounds = choice.units ? HasHalves(session.precision()) : RoundsRows(session, *tile, group_rows);
  return choice;
}

OnlinePass::OnlinePass(const DevicePass& on, const OnlineChoice& choice)
    : on_(on), plan_(on.plan()), session_(on.session()), choice_(choice), unusual_(NothingUnusual(session_)) {
  const AttentionProblem& p = plan_.problem();
  if (p.masked_nan == MaskedNan::kSpreads) {  // then keys and values that no row sees count, too
    on.FindUnusual(on.k(), plan_.width(), unusual_);
    on.FindUnusual(on.v(), plan_.value_width(), unusual_);
  }
  reads_kept_ = SuitsKept();
  if (reads_kept_) {
    k_ = {KeptRounded(p.k.floats()), on.k().place};
    v_ = {KeptRounded(p.v.floats()), on.v().place};
    return;
  }
  const gpu::Pass& pass = on.pass();
  k_ = AsRead(on.k(), pass.key_heads(), pass.groups, plan_.keys(), plan_.width());
  v_ = AsRead(on.v(), pass.key_heads(), pass.groups, plan_.keys(), plan_.value_width());
  k_.place = gpu::SharedByMembers(k_.place);
  v_.place = gpu::SharedByMembers(v_.place);
}

/// When few queries look at keys and values that live on the device, these are rounded once for all calls. The kernel
/// reads four numbers at a time, so the length of a row must be a multiple of four.
bool OnlinePass::SuitsKept() const {
  const auto suits = [&](const DeviceView<const float, 4>& view, const Operand& rows) {
    return view.data.storage && view.shape[3] % gpu::kVector == 0 && gpu::IsAligned(rows.place);
  };
  return !choice_.rounds && HasHalves(session_.precision()) && suits(plan_.problem().k.floats(), on_.k()) &&
         suits(plan_.problem().v.floats(), on_.v());
}

/// The rounded numbers of the whole tensor that a view is of.
Memory OnlinePass::KeptRounded(const DeviceView<const float, 4>& view) const {
  Resident& all = *session_.ResidentOf(view.data.storage);
  if (all.rounded) return all.rounded;
  const Memory rounded = session_.Allocate<cl_ushort>(all.count);
  const gpu::Place place = gpu::MatrixPlace(all.count);
  RoundRows(session_, {gpu::kOneHead, 1, 1, all.count}, {all.buffer, place}, all.count, {rounded, place}, Memory());
  all.rounded = rounded;
  return rounded;
}

/// Rows of heads as the kernels read them: rounded or as they are.
Operand OnlinePass::AsRead(const Operand& rows, const gpu::Heads& heads, Index head_count, Index count,
                           Index width) const {
  return reads_rounded() ? RoundRows(session_, {heads, head_count, count, width}, rows, unusual_) : rows;
}

bool OnlinePass::Run(const QueryRange& rows) {
  const bool wants_lse = bool{plan_.results().lse};
  const Launched launched{rows, on_.Output(rows),
                          wants_lse ? session_.Allocate<float>(on_.pass().head_count() * rows.count) : Memory()};
  choice_.units ? LaunchUnits(launched) : LaunchTiles(launched);
  if (IsUnusual(session_, unusual_)) return false;
  on_.StoreOutput(launched.output, rows);
  on_.StoreLse(launched.lse, rows);
  return true;
}

gpu::Problem OnlinePass::Describe(const Launched& launched, const Operand& q) const {
  gpu::Problem problem = gpu::Describe(plan_, on_.pass(), launched.rows, /*marks_hidden=*/false);
  problem.q = q.place, problem.k = k_.place, problem.v = v_.place, problem.output = launched.output.place;
  return problem;
}

Memory OnlinePass::UploadRanges(const QueryRange& rows, const gpu::Tiling& tiling, bool plain) const {
  return session_.Upload(std::span<const cl_long>(gpu::TileRanges(plan_, on_.pass(), rows, tiling, plain)));
}

/// Computes rows by tiles of the queries of whole groups. Where these are too few to fill the device, several
/// work-groups share the keys of a tile, and leave sums and blends that are merged.
void OnlinePass::LaunchTiles(const Launched& launched) const {
  const auto& [rows, output, lse] = launched;
  const gpu::Pass& pass = on_.pass();
  const OnlineTile& tile = choice_.shape.tile;
  const Index members = plan_.members(), groups = pass.groups, group_rows = rows.count * members;
  const Index tiles = (group_rows + tile.rows - 1) / tile.rows;
  const Index parts = gpu::OnlineParts(session_.compute_units(), tile, groups * tiles, plan_.keys());
  const Operand q = AsRead(on_.Queries(rows), pass.launched, pass.head_count(), rows.count, plan_.width());
  const auto scratch = [&](Index width) {
    return parts > 1 ? session_.Allocate<float>(groups * parts * group_rows * width) : Memory();
  };
  const bool plain = plan_.NeedsOnlyRowRanges();
  const Memory ranges = UploadRanges(rows, {tiles, tile.rows, members}, plain);
  const Memory row_ranges = plain ? session_.Upload(std::span<const cl_int>(gpu::RowRanges(plan_, rows))) : Memory();
  const Memory sums = scratch(2), blends = scratch(plan_.value_width());
  const gpu::Problem problem = Describe(launched, q);
  const bool aligned = gpu::IsAligned(problem.q) && gpu::IsAligned(problem.k) && gpu::IsAligned(problem.v) &&
                       (problem.width | problem.value_width) % gpu::kVector == 0;
  const double factor = double{problem.scale} / double{problem.temperature} * std::numbers::log2e;
  on_.inputs().Launch(
      problem, rows, kOnlineSource,
      OnlineOptions(session_, choice_.shape, {.rounded = reads_rounded(), .aligned = aligned, .row_ranges = plain}),
      "AttendOnline", {groups * tiles * parts * tile.items_x, tile.items_x, tile.items_y}, q.buffer, k_.buffer,
      v_.buffer, ranges, row_ranges, cl_long{groups}, cl_long{tiles}, cl_long{parts}, static_cast<cl_float>(factor),
      output.buffer, lse, sums, blends, unusual_);
  if (parts == 1) return;
  const Index count = pass.head_count() * rows.count * plan_.value_width();
  session_.Launch(kMergeSource, GroupOption(session_), "MergeParts", ForEach(session_, count), problem,
                  on_.inputs().sinks(), on_.inputs().head_mask(), cl_long{parts}, sums, blends, output.buffer, lse,
                  cl_long{count}, unusual_);
}

/// Computes rows head by head on matrix units.
void OnlinePass::LaunchUnits(const Launched& launched) const {
  const auto& [rows, output, lse] = launched;
  const FusedTile& tile = *choice_.units;
  const Index tiles = (rows.count + tile.rows() - 1) / tile.rows();
  const Operand q = on_.Queries(rows);
  const Memory ranges = UploadRanges(rows, {tiles, tile.rows(), 1}, plan_.HidesOnlyRanges());
  const bool row_ranges = plan_.HidesOnlyRanges() && plan_.problem().mask.appended_keys == 0;
  const bool aligned = choice_.rounds || (gpu::IsAligned(k_.place) && gpu::IsAligned(v_.place));
  on_.inputs().Launch(Describe(launched, q), rows, kOnlineMmaSource,
                      FusedOptions(session_, tile, {plan_.ChangesScores(), row_ranges, aligned}), "AttendOnlineMma",
                      {tiles * on_.pass().head_count() * tile.items(), tile.items()}, q.buffer, k_.buffer, v_.buffer,
                      ranges, output.buffer, lse, unusual_);
}

}  // namespace headlens::opencl
