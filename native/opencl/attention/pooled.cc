// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/pooled.h"

#include <algorithm>
#include <numbers>
#include <span>

#include "gpu/key_ranges.h"
#include "headlens/backend.h"
#include "opencl/attention/online_kernel.h"
#include "opencl/attention/pass.h"
#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/layers/rows.h"

namespace headlens::opencl {

using gpu::QueryRange;

namespace {

constexpr Index kFloat = sizeof(float);

/// The first that suits is taken.
constexpr OnlineTile kPooledTiles[] = {
    {128, 64, 8, 16, 8, true}, {64, 64, 8, 8, 8, true}, {32, 64, 8, 8, 8, true}, {16, 32, 8, 4, 16, true}};

/// The choices that SumBlocks is built with.
struct PooledShape {
  OnlineShape online;
  Index grain;  ///< A work-item adds up the exponentials of as many neighbouring keys by itself.

  /// Work-items have neighbouring keys in fours. Only blocks of whole fours can be added up from these.
  PooledShape(const OnlineShape& shape, Index keys, Index columns)
      : online(shape), grain(shape.tile.quads && keys % (4 * columns) == 0 ? 4 : 1) {}

  /// The sums of grains of a row that are in local memory at a time. Without sums, they are of neighbouring keys.
  Index slice() const {
    const OnlineTile& tile = online.tile;
    return grain > 1 ? tile.keys / grain : tile.items_x * (tile.quads ? 4 : 1);
  }
  Index local_memory() const {
    const OnlineTile& tile = online.tile;
    const Index slots = std::max(slice(), tile.items_x) * (tile.rows + gpu::kOnlinePadding);
    return (online.width * tile.rows + 2 * tile.stage() + slots + 3 * tile.rows + 1) * kFloat;
  }
  bool Suits(const gpu::GroupLimits& limits) const {
    return online.tile.items() <= limits.items && local_memory() <= limits.local_memory;
  }
};

/// A processor gains nothing: cells that it pools are still in its cache.
std::optional<PooledShape> ChooseShape(const Session& session, Index width, Index keys, Index columns) {
  if (session.is_cpu()) return std::nullopt;
  for (const OnlineTile& tile : kPooledTiles)
    if (const PooledShape shape({tile, width}, keys, columns); shape.Suits(session.limits())) return shape;
  return std::nullopt;
}

/// Some rows of blocks of a pooled map, and the queries that they are of.
struct Strip {
  QueryRange rows;
  QueryRange blocks;
};

/// A map whose blocks are added up while its scores are made.
class PooledPass {
 public:
  PooledPass(const DevicePass& on, const PooledShape& shape, Index row_blocks, Index columns)
      : on_(on),
        plan_(on.plan()),
        session_(on.session()),
        shape_(shape),
        row_blocks_(row_blocks),
        columns_(columns),
        unusual_(NothingUnusual(session_)) {
    if (plan_.problem().masked_nan == MaskedNan::kSpreads) on.FindUnusual(on.k(), plan_.width(), unusual_);
  }

  /// Computes a strip into rows of the pooled map.
  void Run(const Strip& strip, const DeviceRows& y) const {
    const OnlineTile& tile = shape_.online.tile;
    const Index rows = strip.rows.count, tiles = (rows + tile.rows - 1) / tile.rows;
    const Index parts = gpu::OnlineParts(session_.compute_units(), tile, tiles, plan_.keys());
    const Operand q = on_.Queries(strip.rows);
    gpu::Problem problem = gpu::Describe(plan_, on_.pass(), strip.rows, /*marks_hidden=*/false);
    problem.q = q.place, problem.k = on_.k().place;
    const Memory ranges = session_.Upload(
        std::span<const cl_long>(gpu::TileRanges(plan_, on_.pass(), strip.rows, {tiles, tile.rows, 1}, true)));
    const Memory row_ranges = session_.Upload(std::span<const cl_int>(gpu::RowRanges(plan_, strip.rows)));
    const Memory sums = session_.Allocate<float>(2 * columns_ * rows),
                 ends = session_.Allocate<float>(2 * parts * rows);
    const double factor = double{problem.scale} / double{problem.temperature} * std::numbers::log2e;
    session_.Launch(kPooledSource, Options(problem), "SumBlocks",
                    {tiles * parts * tile.items_x, tile.items_x, tile.items_y}, problem, q.buffer, on_.k().buffer,
                    ranges, row_ranges, cl_long{tiles}, cl_long{parts}, cl_long{columns_},
                    static_cast<cl_float>(factor), sums, ends, unusual_);
    session_.Launch(kMergeSource, GroupOption(session_), "EndRows", ForEach(session_, rows), problem,
                    on_.inputs().sinks(), cl_long{parts}, ends);
    const Index items = GroupItems(session_), lanes = std::min<Index>(items, 32), across = items / lanes;
    session_.Launch(kMergeSource, GroupOption(session_), "MergeBlocks",
                    {strip.blocks.count * ((columns_ + across - 1) / across) * items, items}, problem, sums, ends,
                    cl_long{strip.rows.first}, cl_long{plan_.queries()}, cl_long{strip.blocks.first},
                    cl_long{row_blocks_}, cl_long{columns_}, y.buffer, y.first + strip.blocks.first * y.stride,
                    y.stride);
  }

  bool found_unusual() const { return IsUnusual(session_, unusual_); }

 private:
  std::string Options(const gpu::Problem& problem) const {
    const bool aligned = gpu::IsAligned(problem.q) && gpu::IsAligned(problem.k) && problem.width % gpu::kVector == 0;
    return OnlineOptions(session_, shape_.online, {.rounded = false, .aligned = aligned, .row_ranges = true}) +
           Define("GRAIN", shape_.grain) + Define("GRAIN_SLICE", shape_.slice());
  }

  const DevicePass& on_;
  const gpu::AttentionPlan& plan_;
  Session& session_;
  const PooledShape shape_;
  const Index row_blocks_, columns_;
  Memory unusual_;
};

/// Calls f(strip) for the rows of blocks whose sums have room in the memory for a step.
template <class F>
void InStrips(Index queries, Index row_blocks, Index most_rows, const F& f) {
  for (Index block = 0, end; block < row_blocks; block = end) {
    const Index first = BlockBegin(block, queries, row_blocks);
    const auto count_to = [&](Index last) { return BlockBegin(last, queries, row_blocks) - first; };
    for (end = block + 1; end < row_blocks && count_to(end + 1) <= most_rows;) ++end;
    f(Strip{{first, count_to(end)}, {block, end - block}});
  }
}

}  // namespace

bool PoolWeights(Session& session, const AttentionProblem& problem, const DeviceView<float, 2>& pooled,
                 const std::optional<OnlineTile>& tile) {
  const Index row_blocks = pooled.shape[0], columns = pooled.shape[1], queries = problem.q.shape[2];
  const AttentionResults none;
  const gpu::AttentionPlan plan(problem, none);
  const std::optional<Index> width = gpu::OnlineWidth(plan.width());
  if (!width || problem.k.dtype != DType::kF32 || !plan.SuitsBlockSums()) return false;
  const auto shape =
      tile ? PooledShape({*tile, *width}, plan.keys(), columns) : ChooseShape(session, *width, plan.keys(), columns);
  const Index most_rows = session.step_memory() / (2 * columns * kFloat);
  if (!shape || queries / row_blocks + 1 > most_rows) return false;
  const CallInputs inputs(session, problem);
  const DevicePass on(session, plan, inputs, plan.PassOf(0, 1));
  const PooledPass pass(on, *shape, row_blocks, columns);
  Write(session, pooled, [&](const DeviceRows& y) {
    InStrips(queries, row_blocks, most_rows, [&](const Strip& strip) { pass.Run(strip, y); });
  });
  return !pass.found_unusual();
}

}  // namespace headlens::opencl
