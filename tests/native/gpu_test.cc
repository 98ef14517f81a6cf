// SPDX-License-Identifier: Apache-2.0
/// The code that all GPU backends share, without any device: the plan of an attention call, ranges of keys, and packed
/// tensors.
#include <algorithm>
#include <set>
#include <utility>

#include "gpu/few_tile.h"
#include "gpu/kernel_problem.h"
#include "gpu/key_ranges.h"
#include "gpu/online_tile.h"
#include "gpu/packing.h"
#include "gpu/pieces.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

using gpu::AttentionPlan;
using gpu::Pass;
using gpu::QueryRange;

/// The results of a problem of which only the output is wanted.
struct OutputAlone {
  explicit OutputAlone(const AttentionProblem& p) : all(p) { views.output = all.output.view<4>(); }
  AllResults all;
  AttentionResults views;
};

/// Computes the same as Begin in places.cl.
Index Begin(const gpu::Place& p, const gpu::Heads& heads, Index z) {
  const Index group = heads.first + z / heads.members;
  return p.base + group / heads.groups * p.batch + group % heads.groups * p.group + z % heads.members * p.member;
}

TEST_CASE("GPU: passes over any number of groups work on every head once, in the order of kernels") {
  Random random(41);
  for (const GqaOrder order : {GqaOrder::kBlock, GqaOrder::kInterleaved})
    for (const Index together : {1, 2, 3, 6, 7}) {
      CAPTURE(together);
      RandomProblem r = PlainProblem(random, {3, 2, 6, 4, 5, 3, 2});
      r.problem.gqa_order = order;
      const OutputAlone results(r.problem);
      const AttentionPlan plan(r.problem, results.views);
      std::set<std::pair<Index, Index>> seen;
      gpu::InPieces(plan.batch() * plan.groups(), together, [&](Index first, Index count) {
        const Pass pass = plan.PassOf(first, first + count);
        REQUIRE(pass.head_count() == count * plan.members());
        const gpu::Place q = plan.QueryPlace(0, r.problem.q), k = gpu::HeadsPlace(0, r.problem.k.floats());
        for (Index z = 0; z < pass.head_count(); ++z) {
          const gpu::Head& head = pass.heads[static_cast<std::size_t>(z)];
          CHECK(seen.insert({head.b, head.h}).second);
          const View<const float, 4> queries = r.problem.q.host(), keys = r.problem.k.floats().host();
          CHECK(queries.data + Begin(q, pass.launched, z) == queries.at(head.b, head.h));
          CHECK(keys.data + Begin(k, pass.launched, z) == keys.at(head.b, KvHead(r.problem, head.h)));
        }
      });
      CHECK(seen.size() == 18);
    }
}

TEST_CASE("GPU: packed queries and keys are found where their places say") {
  Random random(42);
  for (const GqaOrder order : {GqaOrder::kBlock, GqaOrder::kInterleaved}) {
    RandomProblem r = PlainProblem(random, {2, 3, 6, 5, 4, 3, 2});
    r.problem.gqa_order = order;
    const OutputAlone results(r.problem);
    const AttentionPlan plan(r.problem, results.views);
    const Pass pass = plan.PassOf(2, 5);  // the end of one sequence, and the beginning of the next
    const QueryRange rows{1, 3};
    const std::vector<float> q = PackQueries(r.problem.q.host(), pass, rows),
                             k = PackKeys(r.problem.k.floats().host(), pass);
    const gpu::Place q_place = gpu::DensePlace(pass.launched, rows.count, 3),
                     k_place = gpu::SharedByMembers(gpu::DensePlace(pass.key_heads(), 4, 3));
    for (Index z = 0; z < pass.head_count(); ++z) {
      const gpu::Head& head = pass.heads[static_cast<std::size_t>(z)];
      for (Index i = 0; i < rows.count; ++i)
        for (Index d = 0; d < 3; ++d)
          CHECK(q[static_cast<std::size_t>(Begin(q_place, pass.launched, z) + i * q_place.row + d)] ==
                r.problem.q.host()(head.b, head.h, rows.first + i, d));
      for (Index s = 0; s < 4; ++s)
        for (Index d = 0; d < 3; ++d)
          CHECK(k[static_cast<std::size_t>(Begin(k_place, pass.launched, z) + s * k_place.row + d)] ==
                r.problem.k(head.b, KvHead(r.problem, head.h), s, d));
    }
  }
}

TEST_CASE("GPU: cells of a mask are found by their strides, whatever it is broadcast over") {
  Random random(43);
  RandomProblem r = PlainProblem(random, {2, 2, 4, 5, 6, 3, 2});
  const OutputAlone results(r.problem);
  const AttentionPlan plan(r.problem, results.views);
  const Pass pass = plan.PassOf(1, 3);
  const QueryRange rows{2, 3};
  const Tensor numbers = random.NormalTensor({2, 4, 5, 6});
  for (int broadcast = 0; broadcast < 16; ++broadcast) {
    CAPTURE(broadcast);
    View<const float, 4> mask = numbers.view<4>();
    for (std::size_t dim = 0; dim < 4; ++dim)
      if (broadcast >> dim & 1) mask.strides[dim] = 0;
    const gpu::MaskCells<float> cells = gpu::CellsOf(mask, pass, rows);
    for (Index z = 0; z < pass.head_count(); ++z) {
      const gpu::Head& head = pass.heads[static_cast<std::size_t>(z)];
      for (Index i = 0; i < rows.count; ++i)
        for (Index s = 0; s < 6; ++s) {
          const Index at = z * cells.strides.head + i * cells.strides.row + s * cells.strides.key;
          CHECK(cells.values[static_cast<std::size_t>(at)] == mask(head.b, head.h, rows.first + i, s));
        }
    }
  }
}

TEST_CASE("GPU: ranges of keys hide what masks hide, row by row and tile by tile") {
  Random random(44);
  int plain_problems = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const ProblemSizes sizes = DrawSizes(random);
    const RandomProblem r = DrawProblem(random, sizes);
    if (r.problem.mask.appended_keys > 0) continue;
    const OutputAlone results(r.problem);
    const AttentionPlan plan(r.problem, results.views);
    const Pass pass = plan.PassOf(0, plan.batch() * plan.groups());
    const QueryRange rows{plan.queries() / 3, plan.queries() - plan.queries() / 3};
    const bool plain = plan.HidesOnlyRanges();
    plain_problems += plain;
    const Index tile_rows = 1 + random.Below(7), members = 1 + random.Below(3);
    const Index tiles = (rows.count * members + tile_rows - 1) / tile_rows;
    const auto of_rows = RowRanges(plan, rows);
    const auto of_tiles = TileRanges(plan, pass, rows, {tiles, tile_rows, members}, plain);
    for (Index b = 0; b < plan.batch(); ++b)
      for (Index row = 0; row < rows.count * members; ++row) {
        const Index i = row / members;
        const auto* range = of_rows.data() + (b * rows.count + i) * 2;
        const auto* tile = of_tiles.data() + (b * tiles + row / tile_rows) * 4;
        for (Index s = 0; s < plan.keys(); ++s) {
          bool sees = false, hides = false;  // for any head, since a mask may differ between heads
          for (Index h = 0; h < r.heads(); ++h) (IsMasked(r.problem, b, h, rows.first + i, s) ? hides : sees) = true;
          const bool inside = range[0] <= s && s < range[1];
          if (sees) CHECK(inside);
          if (plain) CHECK(inside == sees);
          if (sees) CHECK((tile[0] <= s && s < tile[1]));
          if (tile[2] <= s && s < tile[3]) CHECK(!hides);
        }
      }
  }
  CHECK(plain_problems > 0);
}

TEST_CASE("GPU: pieces fit the memory for a step, where less is possible") {
  Random random(45);
  for (int round = 0; round < 40; ++round) {
    const RandomProblem r = DrawProblem(random, DrawSizes(random));
    const AllResults all(r.problem);
    const AttentionResults views = all.views();
    const AttentionPlan plan(r.problem, views);
    for (const Index memory : {Index{1}, Index{3000}, Index{100000}}) {
      const Index groups = plan.GroupsTogether(memory);
      CHECK(groups >= 1);
      const Pass pass = plan.PassOf(0, std::min(groups, plan.batch() * plan.groups()));
      const Index rows = plan.CellRowsTogether(pass, memory);
      CHECK(rows >= plan.RowsTogether(pass, /*has_cells=*/true, memory));
      CHECK(plan.RowsTogether(pass, /*has_cells=*/false, memory) >= plan.RowsTogether(pass, true, memory));
      if (rows > 1) CHECK(rows * pass.head_count() * plan.keys() * static_cast<Index>(sizeof(float)) <= memory);
    }
  }
}

TEST_CASE("GPU: a problem goes without cells only where nothing asks for them") {
  Random random(46);
  const RandomProblem r = PlainProblem(random, {1, 1, 2, 5, 5, 4, 4});
  const auto suits = [](const AttentionProblem& p, const AttentionResults& results) {
    return AttentionPlan(p, results).suits_online();
  };
  const OutputAlone alone(r.problem);
  const AllResults all(r.problem);
  CHECK(suits(r.problem, alone.views));
  CHECK_FALSE(suits(r.problem, all.views()));
  AttentionProblem p = r.problem;
  p.dropout_p = 0.5;
  CHECK_FALSE(suits(p, alone.views));
  p = r.problem;
  p.normalizer.kind = NormalizerKind::kSparsemax;
  CHECK_FALSE(suits(p, alone.views));
  p = r.problem;
  p.fully_masked = FullyMasked::kUniform;
  CHECK(suits(p, alone.views));  // every row sees keys
  p.mask.causal = true;
  CHECK(suits(p, alone.views));
  p.key_offset = 1;  // the first row sees none
  CHECK_FALSE(suits(p, alone.views));
  p.fully_masked = FullyMasked::kZero;
  CHECK(suits(p, alone.views));
}

TEST_CASE("GPU: kernels have a number of their own for every normaliser") {
  std::set<int> numbers;
  for (const NormalizerKind kind : NormalizerKinds()) numbers.insert(gpu::KernelNumber(kind));
  CHECK(numbers.size() == NormalizerKinds().size());
}

TEST_CASE("GPU: work-groups share keys only where tiles leave the device idle") {
  const gpu::OnlineTile tile{4, 64, 32, 1, 16, false};
  CHECK(gpu::OnlineParts(8, tile, 1, 255) == 1);
  CHECK(gpu::OnlineParts(8, tile, 1, 1024) == 4);
  CHECK(gpu::OnlineParts(8, tile, 64, 1 << 20) == 1);
  CHECK(gpu::OnlineParts(8, tile, 16, 1 << 20) == 4);
  CHECK(gpu::OnlineWidth(1) == 32);
  CHECK(gpu::OnlineWidth(65) == 96);
  CHECK_FALSE(gpu::OnlineWidth(257));
  CHECK_FALSE(tile.Suits({31, 48 * 1024}, 64));
  CHECK_FALSE(tile.Suits({32, tile.local_memory(64) - 1}, 64));
  CHECK(tile.Suits({32, tile.local_memory(64)}, 64));
}

TEST_CASE("GPU: the kernel for few rows has a shape for every width, and takes what fits") {
  const gpu::GroupLimits limits{256, 48 * 1024};
  const gpu::FewTile tile{128, 8};
  for (const Index number : {2, 4})
    for (Index rows = 1; rows <= gpu::FewTile::kMostRows; ++rows)
      for (Index width = 4; width <= 256; width += 4) {
        const auto shape = gpu::ShapeOf(tile, limits, {rows, width, number}, width % 8 == 0 ? 8 : 4);
        REQUIRE(shape);
        CHECK(shape->rows >= rows);
        CHECK(shape->width >= width);
        CHECK(shape->piece == (number == 2 && rows == 1 && width % 8 == 0 ? 8 : 4));
        CHECK(shape->teams() * shape->width == shape->items * shape->piece);
        CHECK(shape->local_memory() <= limits.local_memory);
        CHECK(shape->groups_each() * shape->items * shape->registers() <= 65536);
      }
  CHECK_FALSE(gpu::ShapeOf(tile, limits, {9, 64, 4}, 4));
  CHECK_FALSE(gpu::ShapeOf(tile, {127, 48 * 1024}, {1, 64, 4}, 4));
  CHECK_FALSE(gpu::ShapeOf(tile, {128, 1024}, {1, 64, 4}, 4));
  const auto whole = gpu::ShapeOf(tile, limits, {2, 64, 4}, 4);
  REQUIRE(whole);
  CHECK(whole->loads == 8);
  const auto less = gpu::ShapeOf(tile, {128, whole->local_memory() - 1}, {2, 64, 4}, 4);
  REQUIRE(less);
  CHECK(less->loads == 4);
}

TEST_CASE("GPU: work-groups share the keys of few rows only where groups of heads leave the device idle") {
  const auto shape = gpu::ShapeOf({128, 8}, {256, 48 * 1024}, {1, 64, 4}, 4);
  REQUIRE(shape);
  CHECK(shape->keys() == 64);
  const Index all = 8 * shape->groups_each();
  CHECK(gpu::FewParts(8, *shape, 1, 511) == 1);
  CHECK(gpu::FewParts(8, *shape, 1, 1024) == 4);
  CHECK(gpu::FewParts(8, *shape, 1, 1 << 20) == all);
  CHECK(gpu::FewParts(8, *shape, all, 1 << 20) == 1);
}

}  // namespace
}  // namespace headlens::testing
