// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/online.h"

#include <algorithm>
#include <cstdint>
#include <limits>
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
  OnlineChoice choice{{*tile, *width}, std::nullopt, std::nullopt, false};
  if (!kernel || std::holds_alternative<OrdinaryKernels>(*kernel)) choice.few = ChooseFewTile(session);
  if (kernel && std::holds_alternative<FewTile>(*kernel)) choice.few = std::get<FewTile>(*kernel);
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

/// The kernel for few rows counts keys, and the bytes between them, in 32 bits.
std::optional<gpu::FewShape> OnlinePass::FewShapeOf(const gpu::Problem& problem, Index aligned) const {
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max() / Index{sizeof(float)};
  if (!choice_.few || aligned < gpu::kVector || std::max({problem.keys, problem.k.row, problem.v.row}) > kMost)
    return std::nullopt;
  const gpu::FewWork work{problem.rows * plan_.members(), choice_.shape.width,
                          reads_rounded() ? Index{sizeof(cl_ushort)} : Index{sizeof(float)}};
  constexpr Index kLeastItems = 64;
  // Many rows take local memory: then a smaller work-group has room for them.
  for (FewTile tile = *choice_.few; tile.items >= kLeastItems; tile.items /= 2)
    if (const auto shape = gpu::ShapeOf(tile, session_.limits(), work, aligned)) return shape;
  return std::nullopt;
}

/// Tiles have the queries of whole groups. Where these are too few to fill the device, several work-groups share the
/// keys of a tile.
OnlinePass::Tiles OnlinePass::TilesOf(const gpu::Problem& problem) const {
  const auto are_aligned = [&](Index numbers) {
    return gpu::IsAligned(problem.q, numbers) && gpu::IsAligned(problem.k, numbers) &&
           gpu::IsAligned(problem.v, numbers) && (problem.width | problem.value_width) % numbers == 0;
  };
  const Index aligned = are_aligned(2 * gpu::kVector) ? 2 * gpu::kVector : are_aligned(gpu::kVector) ? gpu::kVector : 1;
  const OnlineInputs inputs{
      .rounded = reads_rounded(), .aligned = aligned >= gpu::kVector, .row_ranges = plan_.NeedsOnlyRowRanges()};
  const Index groups = on_.pass().groups, rows = problem.rows * plan_.members(), keys = plan_.keys();
  if (const auto few = FewShapeOf(problem, aligned))
    return {kFewSource,
            "AttendFew",
            FewOptions(session_, *few, inputs),
            rows,
            1,
            gpu::FewParts(session_.compute_units(), *few, groups, keys),
            few->items,
            1};
  const OnlineTile& tile = choice_.shape.tile;
  const Index count = (rows + tile.rows - 1) / tile.rows;
  return {kOnlineSource, "AttendOnline", OnlineOptions(session_, choice_.shape, inputs),
          tile.rows,     count,          gpu::OnlineParts(session_.compute_units(), tile, groups * count, keys),
          tile.items_x,  tile.items_y};
}

/// Work-groups that share the keys of a tile leave sums and blends that are merged.
void OnlinePass::LaunchTiles(const Launched& launched) const {
  const auto& [rows, output, lse] = launched;
  const gpu::Pass& pass = on_.pass();
  const Index groups = pass.groups, group_rows = rows.count * plan_.members();
  const Operand q = AsRead(on_.Queries(rows), pass.launched, pass.head_count(), rows.count, plan_.width());
  const gpu::Problem problem = Describe(launched, q);
  const Tiles tiles = TilesOf(problem);
  const auto scratch = [&](Index width) {
    return tiles.parts > 1 ? session_.Allocate<float>(groups * tiles.parts * group_rows * width) : Memory();
  };
  const bool plain = plan_.NeedsOnlyRowRanges();
  const Memory ranges = UploadRanges(rows, {tiles.count, tiles.rows, plan_.members()}, plain);
  const Memory row_ranges = plain ? session_.Upload(std::span<const cl_int>(gpu::RowRanges(plan_, rows))) : Memory();
  const Memory sums = scratch(2), blends = scratch(plan_.value_width());
  const double factor = double{problem.scale} / double{problem.temperature} * std::numbers::log2e;
  on_.inputs().Launch(problem, rows, tiles.source, tiles.options, tiles.kernel,
                      {groups * tiles.count * tiles.parts * tiles.items_x, tiles.items_x, tiles.items_y}, q.buffer,
                      k_.buffer, v_.buffer, ranges, row_ranges, cl_long{groups}, cl_long{tiles.count},
                      cl_long{tiles.parts}, static_cast<cl_float>(factor), output.buffer, lse, sums, blends, unusual_);
  if (tiles.parts == 1) return;
  const Index count = pass.head_count() * rows.count * plan_.value_width();
  session_.Launch(kMergeSource, GroupOption(session_), "MergeParts", ForEach(session_, count), problem,
                  on_.inputs().sinks(), on_.inputs().head_mask(), cl_long{tiles.parts}, sums, blends, output.buffer,
                  lse, cl_long{count}, unusual_);
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
