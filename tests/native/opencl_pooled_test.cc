// SPDX-License-Identifier: Apache-2.0
/// Pooled maps without cells in memory on a device, compared with plain attention in fp64.
#include <cmath>
#include <limits>

#include "opencl/attention/pooled.h"
#include "opencl_faults.h"
#include "opencl_session.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

using gpu::OnlineTile;

/// Tiles with their columns in fours and side by side.
constexpr OnlineTile kTiles[] = {{16, 32, 8, 4, 8, true}, {8, 16, 4, 2, 16, false}};

/// The means of the blocks of plain weights.
Tensor PoolPlain(const AllResults& plain, const Shape& blocks) {
  const View<float, 4> weights = plain.maps[AllResults::kWeights].view<4>();
  const Index rows = weights.shape[2], keys = weights.shape[3];
  Tensor pooled(blocks);
  for (Index i = 0; i < blocks[0]; ++i)
    for (Index j = 0; j < blocks[1]; ++j) {
      double sum = 0.0, cells = 0.0;
      for (Index t = BlockBegin(i, rows, blocks[0]); t < BlockBegin(i + 1, rows, blocks[0]); ++t)
        for (Index s = BlockBegin(j, keys, blocks[1]); s < BlockBegin(j + 1, keys, blocks[1]); ++s, ++cells)
          sum += double{weights(0, 0, t, s)};
      pooled.view<2>()(i, j) = static_cast<float>(sum / cells);
    }
  return pooled;
}

void CheckPooled(opencl::Session& session, const RandomProblem& r, const Shape& blocks, const OnlineTile& tile) {
  CAPTURE(tile.rows);
  CAPTURE(blocks[0]);
  CAPTURE(blocks[1]);
  const AllResults plain = PlainAttention(r.problem);
  const Tensor got(blocks), expected = PoolPlain(plain, blocks);
  AttentionProblem problem = r.problem;
  problem.v = {};
  REQUIRE(opencl::PoolWeights(session, problem, got.view<2>(), tile));
  CheckClose("pooled", got.values(), expected.values(), Tolerances(r, plain).weights);
}

RandomProblem DrawPooledProblem(Random& random, Index queries, Index keys, Index width) {
  RandomProblem r = PlainProblem(random, {1, 1, 1, queries, keys, width, 1});
  AttentionProblem& p = r.problem;
  p.mask.causal = random.Chance(0.5);
  if (random.Chance(0.3)) p.query_offset = random.Below(12);
  if (random.Chance(0.3)) p.mask.window_left = random.Below(40);
  if (random.Chance(0.3)) p.normalizer.temperature = 0.5f;
  if (random.Chance(0.3)) {
    r.sinks = random.NormalTensor({1});
    p.normalizer.sinks = r.sinks.view<1>();
  }
  return r;
}

TEST_CASE("OpenCL: attention pooled while its scores are made, of lengths around its tiles") {
  Random random(41);
  for (const OnlineTile& tile : kTiles)
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      const Index queries = std::max<Index>(tile.rows * random.Below(3) + random.Below(3) - 1, 1);
      // Blocks of whole fours of keys are added up in another way.
      const bool even = round % 3 == 0, fine = random.Chance(0.3);
      const Index keys =
          even ? 4 * tile.keys : std::max<Index>(tile.keys * (1 + random.Below(3)) + random.Below(3) - 1, 1);
      const Index columns = even   ? Index{1} << random.Below(5)
                            : fine ? keys
                                   : 1 + random.Below(std::min<Index>(keys, 9));
      const RandomProblem r = DrawPooledProblem(random, queries, keys, round % 2 == 0 ? 12 : 5);
      CheckPooled(Opened(), r, {1 + random.Below(queries), columns}, tile);
    }
}

TEST_CASE("OpenCL: attention pooled by work-groups that share the keys, in strips of rows") {
  Random random(42);
  // A strip has the sums of 40 rows.
  constexpr Index kColumns = 11;
  opencl::Session session{{.step_memory = 2 * kColumns * 40 * Index{sizeof(float)}}};
  for (const bool causal : {false, true}) {
    RandomProblem r = PlainProblem(random, {1, 1, 1, 130, 1030, 8, 1});
    r.problem.mask.causal = causal;
    CheckPooled(session, r, {13, kColumns}, kTiles[0]);
    const Tensor tall({3, kColumns});
    CHECK_FALSE(opencl::PoolWeights(session, r.problem, tall.view<2>(), kTiles[0]));  // a block of rows has no room
  }
}

TEST_CASE("OpenCL: attention pooled whose scores rise from tile to tile, by little and by much") {
  Random random(45);
  for (const OnlineTile& tile : kTiles)
    for (const float step : {3.0f, 20.0f}) {
      CAPTURE(step);
      const RandomProblem r = RisingProblem(random, tile.rows + 1, 4 * tile.keys, tile.keys, step);
      for (const Index columns : {2, 3}) CheckPooled(Opened(), r, {5, columns}, tile);  // blocks of more than a tile
    }
}

TEST_CASE("OpenCL kernels: attention pooled while its scores are made, by fours of keys and one by one") {
  Random random(44);
  const KeptMemory kept;  // memory is never used twice
  opencl::Session session{{.idle_memory = 0}};
  const RandomProblem r = PlainProblem(random, {1, 1, 1, 17, 40, 9, 1});
  for (const Index columns : {5, 7}) CheckPooled(session, r, {4, columns}, {8, 16, 4, 2, 8, true});
}

TEST_CASE("OpenCL: attention is not pooled without cells where it needs them") {
  Random random(43);
  const Tensor pooled({2, 2});
  const auto pools = [&](const RandomProblem& r) {
    return opencl::PoolWeights(Opened(), r.problem, pooled.view<2>(), kTiles[0]);
  };
  RandomProblem r = PlainProblem(random, {1, 1, 1, 5, 7, 4, 1});
  REQUIRE(pools(r));
  r.problem.normalizer.kind = NormalizerKind::kSparsemax;
  CHECK_FALSE(pools(r));
  r.problem.normalizer.kind = NormalizerKind::kSoftmax;
  r.problem.softcap = 2.0f;
  CHECK_FALSE(pools(r));
  r.problem.softcap = 0.0f;
  r.head_mask = random.NormalTensor({1, 1});
  r.problem.head_mask = r.head_mask.view<2>();
  CHECK_FALSE(pools(r));
  r.problem.head_mask = {};
  for (const float number : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    r.k.values()[5] = number;
    CHECK_FALSE(pools(r));
  }
}

}  // namespace
}  // namespace headlens::testing
