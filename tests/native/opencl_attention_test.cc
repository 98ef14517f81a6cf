// SPDX-License-Identifier: Apache-2.0
/// Attention without cells in memory on a device: every tile that a device may use, and everything that depends on
/// sizes, compared with plain attention in fp64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "gpu/place.h"
#include "opencl/attention/attention.h"
#include "opencl/opencl.h"
#include "opencl_session.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

using opencl::AttentionKernel;
using opencl::FewTile;
using opencl::OnlineTile;
using opencl::Precision;

/// Draws some of the options that need no cells in memory: all kinds of masks and everything else that changes scores,
/// or else at most a causal mask. Different programs compute the two.
RandomProblem DrawOnlineProblem(Random& random, const ProblemSizes& sizes, bool changes_scores) {
  RandomProblem r = PlainProblem(random, sizes);
  AttentionProblem& p = r.problem;
  p.gqa_order = random.Chance(0.5) ? GqaOrder::kBlock : GqaOrder::kInterleaved;
  if (random.Chance(0.3)) p.query_offset = random.Below(12);
  if (random.Chance(0.2)) p.normalizer.temperature = 0.5f;
  if (random.Chance(0.3)) {
    r.sinks = random.NormalTensor({r.heads()});
    p.normalizer.sinks = r.sinks.view<1>();
  }
  if (random.Chance(0.2)) {
    r.head_mask = random.NormalTensor({r.batch(), r.heads()});
    r.head_mask.values()[0] = 0.0f;
    p.head_mask = r.head_mask.view<2>();
  }
  if (!changes_scores) {
    p.mask.causal = random.Chance(0.5);
    return r;
  }
  if (!r.exact && random.Chance(0.3)) p.softcap = 0.5f + static_cast<float>(random.Below(4));
  if (random.Chance(0.5)) p.softcap_order = SoftcapOrder::kAfterBias;
  DrawMasks(random, r, /*positional=*/true);
  DrawBiases(random, r);
  // Plain attention computes exponentials directly, so biases of far keys must not be too large for them.
  for (float& slope : r.slopes.values()) slope /= static_cast<float>(sizes.keys);
  return r;
}

RandomProblem DrawOnlineProblem(Random& random, const ProblemSizes& sizes) {
  return DrawOnlineProblem(random, sizes, random.Chance(0.5));
}

/// Results for attention without cells, each surrounded by other memory, which must not be written.
struct OnlineResults {
  explicit OnlineResults(const AttentionProblem& p) : all(p) {
    views.output = all.output.view<4>(), views.lse = all.lse.view<3>();
  }
  AllResults all;
  AttentionResults views;
};

void CheckOnline(const RandomProblem& r, const OnlineResults& got, const AllResults& expected) {
  const Tolerances tolerance(r, expected);
  CheckClose("output", got.all.output.values(), expected.output.values(), tolerance.output);
  CheckClose("lse", got.all.lse.values(), expected.lse.values(), tolerance.lse);
}

void CheckTile(opencl::Session& session, const RandomProblem& r, const std::optional<AttentionKernel>& tile) {
  const OnlineResults got(r.problem);
  opencl::RunAttention(session, r.problem, got.views, tile);
  CheckOnline(r, got, PlainAttention(r.problem));
}

TEST_CASE("OpenCL: attention by every tile, of lengths around it") {
  Random random(21);
  for (const OnlineTile& tile : opencl::OnlineTiles()) {
    CAPTURE(tile.rows);
    CAPTURE(tile.keys);
    CAPTURE(tile.items_x);
    CAPTURE(tile.items_y);
    Index width = 32;
    while (width <= 256 && !tile.Suits(Opened().limits(), width)) width += 32;
    REQUIRE(width <= 256);
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      const Index groups = 1 + random.Below(2), members = 1 + random.Below(3);
      const Index queries = std::max<Index>(tile.rows * random.Below(3) / members + random.Below(3) - 1, 1);
      const Index keys = std::max<Index>(tile.keys * (1 + random.Below(3)) + random.Below(3) - 1, 1);
      // Widths that programs of other cases have as well. Widths that are not a multiple of four are tested below.
      const Index head = width - 4 * random.Below(width / 8), value = width - 4 * random.Below(7);
      CheckTile(Opened(),
                DrawOnlineProblem(random, {1 + random.Below(2), groups, groups * members, queries, keys, head, value}),
                tile);
    }
  }
}

TEST_CASE("OpenCL: attention whose scores rise from tile to tile, by little and by much") {
  Random random(27);
  for (const OnlineTile& tile : opencl::OnlineTiles())
    for (const float step : {3.0f, 20.0f}) {
      CAPTURE(tile.rows);
      CAPTURE(tile.items_x);
      CAPTURE(step);
      if (!tile.Suits(Opened().limits(), 32)) continue;
      CheckTile(Opened(), RisingProblem(random, tile.rows + 1, 4 * tile.keys, tile.keys, step), tile);
    }
}

TEST_CASE("OpenCL: attention for heads and values of any width") {
  Random random(22);
  bool changes_scores = false;
  for (const Index width : {1, 32, 63, 96, 127, 192, 255, 256}) {
    CAPTURE(width);
    changes_scores = !changes_scores;
    for (int round = 0; round < 2; ++round) {
      const Index other = 1 + random.Below(width);
      const auto [head, value] = random.Chance(0.5) ? std::pair(width, other) : std::pair(other, width);
      CheckTile(Opened(),
                DrawOnlineProblem(random, {1, 2, 4, 17 + random.Below(30), 1 + random.Below(140), head, value},
                                  changes_scores),
                std::nullopt);
    }
  }
}

TEST_CASE("OpenCL: decoding, with keys that several work-groups share") {
  Random random(23);
  for (const Index keys : {255, 512, 1000, 2049, 3333}) {
    CAPTURE(keys);
    for (const Index members : {1, 3, 8}) {
      CAPTURE(members);
      const Index queries = 1 + random.Below(2);
      const std::optional<OnlineTile> tile = opencl::ChooseOnlineTile(Opened(), 32, members * queries);
      REQUIRE(tile);
      CHECK((gpu::OnlineParts(Opened().compute_units(), *tile, 1, keys) > 1) == (keys >= 512));
      CheckTile(Opened(), DrawOnlineProblem(random, {1, 1, members, queries, keys, 24, 32}), tile);
    }
  }
}

TEST_CASE("OpenCL: decoding by the kernel for few rows, of lengths around its blocks") {
  Random random(28);
  // A tile for each, as every shape is a program of its own. The kernel is built for 1, 2, 4 or 8 rows.
  struct Work {
    Index rows, width;
  };
  constexpr Work kWorks[] = {{6, 8}, {1, 32}, {2, 60}, {3, 96}, {4, 128}, {FewTile::kMostRows, 256}};
  const std::span<const FewTile> tiles = opencl::FewTiles();
  REQUIRE(tiles.size() == std::size(kWorks));
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto& [rows, width] = kWorks[i];
    CAPTURE(rows);
    FewTile tile = tiles[i];
    CAPTURE(tile.items);
    CAPTURE(tile.loads);
    const auto shape_of = [&, rows = rows, width = width] {
      return gpu::ShapeOf(tile, Opened().limits(), {rows, width, sizeof(float)}, gpu::kVector);
    };
    while (!shape_of() && tile.items > 64) tile.items /= 2;
    const auto shape = shape_of();
    REQUIRE(shape);
    for (int round = 0; round < 10; ++round) {
      CAPTURE(round);
      Index queries = 1 + random.Below(rows);
      while (rows % queries != 0) --queries;
      const Index groups = 1 + random.Below(2), members = rows / queries;
      const Index keys = round < 8 ? std::max<Index>(shape->keys() * random.Below(4) + random.Below(3) - 1, 1) : 1100;
      const auto [head, value] = random.Chance(0.5) ? std::pair(width, width) : std::pair(width, width / 2 / 4 * 4);
      CheckTile(Opened(),
                DrawOnlineProblem(random, {1 + random.Below(2), groups, groups * members, queries, keys, head, value}),
                tile);
    }
  }
}

/// The first of a device's tiles that so many rows fill often enough to be rounded for.
OnlineTile RoundingTile(const opencl::Session& session, Index rows) {
  for (const OnlineTile& tile : opencl::OnlineTiles()) {
    const bool for_cpu = tile.items() == 1;
    if (for_cpu == session.is_cpu() && tile.Suits(session.limits(), 32) && opencl::RoundsRows(session, tile, rows))
      return tile;
  }
  FAIL("no tile");
  return {};
}

/// The nearest number with this many bits after the point, ties to even. Halves have no bits below 2^-24.
float Rounded(float x, Precision precision) {
  const bool half = precision == Precision::kFp16;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = half ? std::max(exponent - 11, -24) : exponent - 8;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(double{x}, -last)), last));
}

void Round(const RandomProblem& r, Precision precision) {
  for (const Tensor* tensor : {&r.q, &r.k, &r.v})
    for (float& x : tensor->values()) x = Rounded(x, precision);
}

TEST_CASE("OpenCL: attention from numbers of 16 bits is that of the rounded numbers") {
  Random random(24);
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    CAPTURE(static_cast<int>(precision));
    opencl::Settings settings;
    settings.precision = precision;
    opencl::Session session(settings);
    for (int round = 0; round < 16; ++round) {
      CAPTURE(round);
      const Index members = 1 + random.Below(3), queries = 30 + random.Below(60);
      const RandomProblem r = DrawOnlineProblem(
          random, {1 + random.Below(2), 2, 2 * members, queries, 1 + random.Below(300), 1 + random.Below(32), 30},
          precision == Precision::kFp16);
      const OnlineTile tile = RoundingTile(session, members * queries);
      const OnlineResults got(r.problem);
      opencl::RunAttention(session, r.problem, got.views, tile);
      Round(r, precision);
      CheckOnline(r, got, PlainAttention(r.problem));
    }
    // The numbers are too large for a half, and rounding makes a bfloat infinite, so fp32 is used.
    RandomProblem r = PlainProblem(random, {1, 1, 1, 150, 5, 4, 4});
    r.v.values()[2] = precision == Precision::kFp16 ? 70000.0f : 3.4e38f;
    const OnlineResults got(r.problem);
    opencl::RunAttention(session, r.problem, got.views);
    CheckOnline(r, got, PlainAttention(r.problem));
  }
}

TEST_CASE("OpenCL: decoding reads keys and values on the device in 16 bits, however they change") {
  constexpr Index kWidth = 32, kFresh = 3;
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    CAPTURE(static_cast<int>(precision));
    const auto backend = opencl::MakeBackend({.precision = precision});
    Random random(26);
    RandomProblem r = DrawOnlineProblem(random, {2, 2, 8, 1, 700, kWidth, kWidth}, /*changes_scores=*/false);
    const DeviceTensor k = backend->Upload(r.k.Clone()), v = backend->Upload(r.v.Clone());
    const auto read = [&](const DeviceTensor& tensor) { return backend->ReadBack(tensor)->Wait(); };
    const auto write = [&](const Tensor& from, const DeviceTensor& to) {
      const std::array<Index, 4> all = {1, 1, 1, to.size()};
      backend->Copy(DenseView(from.data(), all), DenseView(to.data(), all));
    };
    const auto check = [&](const std::string& what, bool rounds) {
      CAPTURE(what);
      for (const auto& [to, from] : {std::pair(&r.k, &k), std::pair(&r.v, &v)}) {
        const Tensor now = read(*from);
        std::copy(now.values().begin(), now.values().end(), to->values().begin());
      }
      const OnlineResults got(r.problem);
      AttentionProblem on_device = r.problem;
      on_device.k = SplitHeads(k.view<3>(), r.problem.k.shape[1]);
      on_device.v = SplitHeads(v.view<3>(), r.problem.v.shape[1]);
      backend->Attention(on_device, got.views);
      if (rounds) Round(r, precision);
      CheckOnline(r, got, PlainAttention(r.problem));
    };
    Round(r, precision);  // so that queries do not change
    check("kept", true);
    check("kept before", true);
    const Tensor fresh = random.NormalTensor({2, 2, kFresh, kWidth});
    const auto& strides = r.problem.v.strides;
    backend->Copy(fresh.view<4>(), {v.data() + 500 * strides[2], {2, 2, kFresh, kWidth}, strides});
    check("appended", true);
    backend->Add(k.values(), random.NormalTensor({k.size()}).values());
    check("computed", true);
    const Tensor less = read(k);
    for (float& x : less.values()) x *= 0.7f;
    write(less, k);
    check("sent", true);
    if (precision == Precision::kBf16) continue;
    const Tensor more = read(v);
    more.values()[7] = 1e5f;  // is more than fp16 has
    write(more, v);
    check("too large", false);
  }
}

/// The tensor on the session's device, as keys and values of earlier tokens are kept.
DeviceTensor Kept(opencl::Session& session, const Tensor& tensor) {
  const std::shared_ptr<opencl::Resident> resident = session.MakeResident(tensor.size());
  session.Send(*resident, tensor.data());
  return DeviceTensor(tensor.shape(), resident);
}

TEST_CASE("OpenCL: decoding by the kernel for few rows, from numbers of 16 bits") {
  Random random(29);
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    CAPTURE(static_cast<int>(precision));
    opencl::Settings settings;
    settings.precision = precision;
    opencl::Session session(settings);
    const std::pair<Index, Index> work[] = {{1, 64}, {1, 36}, {4, 40}};
    for (const auto& [rows, width] : work) {
      CAPTURE(rows);
      CAPTURE(width);
      const FewTile& tile = opencl::FewTiles()[static_cast<std::size_t>(width / 4 % 6)];
      const auto shape = gpu::ShapeOf(tile, session.limits(), {rows, width, 2}, width % 8 == 0 ? 8 : 4);
      REQUIRE(shape);
      CHECK(shape->piece == (rows == 1 && width % 8 == 0 ? 8 : 4));
      for (const Index keys : {shape->keys() - 1, Index{1500}}) {
        // Each precision and each shape has both kinds of programs, but not all with all.
        const bool changes_scores = (rows == 1 && width % 8 == 0) == (precision == Precision::kFp16);
        RandomProblem r = DrawOnlineProblem(random, {2, 2, 2 * rows, 1, keys, width, width}, changes_scores);
        Round(r, precision);
        const DeviceTensor k = Kept(session, r.k), v = Kept(session, r.v);
        AttentionProblem kept = r.problem;
        kept.k = SplitHeads(k.view<3>(), 2);
        kept.v = SplitHeads(v.view<3>(), 2);
        const OnlineResults got(r.problem);
        opencl::RunAttention(session, kept, got.views, tile);
        CheckOnline(r, got, PlainAttention(r.problem));
      }
    }
  }
}

TEST_CASE("OpenCL: decoding from keys of the host rounds nothing: that would take longer than the attention") {
  Random random(25);
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    CAPTURE(static_cast<int>(precision));
    opencl::Settings settings;
    settings.precision = precision;
    opencl::Session session(settings);
    for (const Index queries : {1, 2}) {
      const RandomProblem r = DrawOnlineProblem(random, {2, 2, 8, queries, 700, 32, 32});
      const OnlineResults got(r.problem), exact(r.problem);
      opencl::RunAttention(session, r.problem, got.views);
      opencl::RunAttention(Opened(), r.problem, exact.views);
      CheckOnline(r, got, PlainAttention(r.problem));
      CheckClose("output", got.all.output.values(), exact.all.output.values(), 0.0);
    }
  }
}

TEST_CASE("OpenCL: attention on devices with little local memory, and with small work-groups") {
  Random random(25);
  const auto check = [&](Index memory, Index items, Index width, bool has_tile) {
    CAPTURE(memory);
    CAPTURE(items);
    CAPTURE(width);
    opencl::Settings settings;
    settings.most_local_memory = memory;
    settings.most_group_items = items;
    opencl::Session session(settings);
    CHECK(session.local_memory() <= memory);
    CHECK(session.group_items() <= items);
    for (const Index rows : {1, 40}) {
      const auto tile = opencl::ChooseOnlineTile(session, *gpu::OnlineWidth(width), rows);
      REQUIRE(tile.has_value() == has_tile);
      if (tile) CHECK(tile->local_memory(*gpu::OnlineWidth(width)) <= memory);
      CheckTile(session, DrawOnlineProblem(random, {1, 2, 2, rows, 70, width, width}), std::nullopt);
    }
  };
  check(16 * 1024, 256, 32, true);
  check(4 * 1024, 1, 32, true);
  check(1024, 16, 32, false);  // with cells in memory
  CHECK_FALSE(gpu::OnlineWidth(257));
}

TEST_CASE("OpenCL: attention of tensors that live on the device is the same to the bit") {
  Random random(26);
  const auto backend = opencl::MakeBackend({});
  for (const Index queries : {1, 37}) {
    CAPTURE(queries);
    const RandomProblem r = DrawOnlineProblem(random, {2, 2, 4, queries, 300, 32, 24});
    const OnlineResults host(r.problem), device(r.problem);
    backend->Attention(r.problem, host.views);
    const DeviceTensor q = backend->Upload(r.q.Clone()), k = backend->Upload(r.k.Clone()),
                       v = backend->Upload(r.v.Clone());
    const DeviceTensor output = backend->Allocate(device.all.output.shape());
    AttentionProblem kept = r.problem;
    kept.q = SplitHeads(q.view<3>(), r.heads());
    kept.k = SplitHeads(k.view<3>(), 2);
    kept.v = SplitHeads(v.view<3>(), 2);
    AttentionResults results = device.views;
    results.output = output.view<4>();
    backend->Attention(kept, results);
    CheckClose("output", backend->ReadBack(output)->Wait().values(), host.all.output.values(), 0.0);
    CheckClose("lse", device.all.lse.values(), host.all.lse.values(), 0.0);
  }
}

/// Holds attention with a number that is not finite, in the last query or its key, against the reference. A causal mask
/// hides the key from all other queries.
void CheckNotFinite(Random& random, Index queries, const std::optional<opencl::AttentionKernel>& kernel) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    CAPTURE(bad);
    for (Tensor RandomProblem::* tensor : {&RandomProblem::q, &RandomProblem::k, &RandomProblem::v}) {
      RandomProblem r = PlainProblem(random, {1, 1, 2, queries, 9, 8, 8});
      r.problem.mask.causal = true;
      (r.*tensor).values()[static_cast<std::size_t>(queries - 1) * 8] = bad;
      const OnlineResults got(r.problem), expected(r.problem);
      opencl::RunAttention(Opened(), r.problem, got.views, kernel);
      ReferenceBackend().Attention(r.problem, expected.views);
      const double tolerance = 1e-5 * (std::isfinite(bad) ? double{bad} : MaxNorm(expected.all.output.values()) + 1.0);
      CheckClose("output", got.all.output.values(), expected.all.output.values(), tolerance);
    }
  }
}

TEST_CASE("OpenCL: attention that is not finite is left to cells in memory") {
  Random random(27);
  CheckNotFinite(random, 5, std::nullopt);
}

TEST_CASE("OpenCL: few rows that are not finite are left to cells in memory") {
  Random random(30);
  CheckNotFinite(random, 4, FewTile{64, 4});
}

}  // namespace
}  // namespace headlens::testing
