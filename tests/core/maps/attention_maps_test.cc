// SPDX-License-Identifier: Apache-2.0
#include "headlens/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headlens/safetensors.h"
#include "random_problem.h"
#include "support.h"

namespace headlens::testing {
namespace {

/// One head of a problem, and its map by the formulas.
struct Head {
  const RandomProblem& r;
  const AllResults& expected;
  Index b, h;

  float operator()(Index t, Index s) const { return expected.maps[AllResults::kWeights].view<4>()(b, h, t, s); }
};

MapWindow DrawWindow(Random& random, Index rows, Index columns) {
  const auto part = [&](Index count) {
    const Index begin = random.Below(count);
    return std::pair(begin, begin + 1 + random.Below(count - begin));
  };
  const auto [top, bottom] = part(rows);
  const auto [left, right] = part(columns);
  return {top, bottom, left, right};
}

void CheckMap(const AttentionMaps& maps, const Head& head, const MapWindow& window, double tolerance) {
  const Tensor got({window.rows(), window.columns()}), expected(got.shape());
  maps.Map(head.b, head.h, window, got.view<2>());
  for (Index i = 0; i < window.rows(); ++i)
    for (Index j = 0; j < window.columns(); ++j)
      expected.view<2>()(i, j) = head(window.row_begin + i, window.col_begin + j);
  CheckClose("a part of a map", got.values(), expected.values(), tolerance);
}

void CheckPooled(const AttentionMaps& maps, const Head& head, const MapWindow& window, PoolKind kind,
                 const Shape& blocks, double tolerance) {
  const Tensor got(blocks), expected(blocks);
  maps.Pooled(head.b, head.h, window, kind, got.view<2>());
  for (Index i = 0; i < blocks[0]; ++i)
    for (Index j = 0; j < blocks[1]; ++j) {
      double sum = 0.0, most = 0.0, cells = 0.0;
      for (Index t = BlockBegin(i, window.rows(), blocks[0]); t < BlockBegin(i + 1, window.rows(), blocks[0]); ++t)
        for (Index s = BlockBegin(j, window.columns(), blocks[1]); s < BlockBegin(j + 1, window.columns(), blocks[1]);
             ++s, ++cells) {
          const double cell = head(window.row_begin + t, window.col_begin + s);
          sum += cell;
          if (cell > most || std::isnan(cell)) most = cell;
        }
      expected.view<2>()(i, j) = static_cast<float>(kind == PoolKind::kMax ? most : sum / cells);
    }
  CheckClose("a pooled part", got.values(), expected.values(), tolerance);
}

void CheckSummaries(const AttentionMaps& maps, const Head& head, const Tolerances& tolerances) {
  const std::vector<RowSummary> rows = maps.Summaries(head.b, head.h, 0, head.r.queries());
  REQUIRE(static_cast<Index>(rows.size()) == head.r.queries());
  for (Index t = 0; t < head.r.queries(); ++t) {
    const RowSummary& row = rows[static_cast<std::size_t>(t)];
    float largest = head(t, 0);
    Index keys = 0;
    for (Index s = 0; s < head.r.keys(); ++s) {
      largest = std::max(largest, head(t, s));
      keys += !PlainHidden(head.r.problem, head.b, head.h, t, s);
    }
    CHECK(row.keys == keys);
    CheckClose("lse", {&row.lse, 1}, {head.expected.lse.view<3>().at(head.b, head.h, t), 1}, tolerances.lse);
    CheckClose("largest", {&row.largest, 1}, {&largest, 1}, tolerances.weights);
  }
}

/// A part is looked at before its rows were summarised and after it, when only its own cells are computed.
void CheckHead(Random& random, const Backend& backend, const Head& head) {
  const Tolerances tolerances(head.r, head.expected);
  const AttentionMaps maps(head.r.problem, backend);
  double deepest = 1.0;  // the share of a part in its row is as exact as the two logarithms of which it is made
  for (const float lse : head.expected.lse.values())
    if (std::isfinite(lse)) deepest = std::max(deepest, std::abs(double{lse}));
  const double tolerance = 2 * tolerances.weights + 2 * tolerances.lse + 4 * kEpsilon * deepest;
  for (int i = 0; i < 4; ++i) {
    const MapWindow window = DrawWindow(random, head.r.queries(), head.r.keys());
    CAPTURE(window.row_begin);
    CAPTURE(window.col_begin);
    if (i == 2) CheckSummaries(maps, head, tolerances);
    CheckMap(maps, head, window, tolerance);
    const Shape blocks = {1 + random.Below(window.rows()), 1 + random.Below(window.columns())};
    for (const PoolKind kind : {PoolKind::kMean, PoolKind::kMax})
      CheckPooled(maps, head, window, kind, blocks, tolerance);
  }
  CheckPooled(maps, head, {0, head.r.queries(), 0, head.r.keys()}, PoolKind::kMax, {1, 1}, tolerance);
}

TEST_CASE("any part of any map is what the formulas say, before and after its rows are summarised") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(61);
    for (int i = 0; i < 12; ++i) {
      CAPTURE(i);
      const ProblemSizes sizes = {2, 1, 2, 1 + random.Below(20), 1 + random.Below(24), 4, 1};
      const RandomProblem r = i % 3 == 0 ? PlainProblem(random, sizes) : DrawProblem(random, sizes);
      const AllResults expected = PlainAttention(r.problem);
      if (RoundingDecides(r, expected)) continue;
      CheckHead(random, backend, {r, expected, random.Below(2), random.Below(2)});
    }
  });
}

TEST_CASE("a row that may see no key, and one with a NaN, are the same in a part as in the whole") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(67);
    for (const FullyMasked policy : {FullyMasked::kZero, FullyMasked::kNan, FullyMasked::kUniform}) {
      RandomProblem r = PlainProblem(random, {1, 1, 1, 6, 8, 4, 1});
      r.problem.fully_masked = policy;
      std::vector<std::int32_t> documents = {0, 0, 1, 1, 2, 2, 0, 1}, own = {0, 1, 2, 7, 0, 1};
      r.problem.mask.key_documents = DenseView(documents.data(), std::array<Index, 2>{1, 8});
      r.problem.mask.query_documents = DenseView(own.data(), std::array<Index, 2>{1, 6});
      r.k.values()[4 * 4] = std::numeric_limits<float>::quiet_NaN();  // of key 4, which only query 2 sees
      const AttentionMaps maps(r.problem, backend);
      const Tensor whole({6, 8}), part({6, 3});
      maps.Map(0, 0, {}, whole.view<2>());
      for (const bool summarised : {false, true}) {
        CAPTURE(summarised);
        if (summarised) maps.Summaries(0, 0, 0, 6);
        for (const Index left : {0, 3, 5}) {
          maps.Map(0, 0, {0, 6, left, left + 3}, part.view<2>());
          for (Index t = 0; t < 6; ++t) {
            CheckClose("row", {part.view<2>().at(t), 3}, {whole.view<2>().at(t, left), 3}, 8 * kEpsilon);
          }
        }
      }
    }
  });
}

TEST_CASE("a long map is pooled strip by strip to the largest weights, and summarised on the way") {
  constexpr Index kLength = 2100;  // a strip has 249 rows
  Random random(71);
  const Tensor q = random.NormalTensor({1, 1, kLength, 8}), k = random.NormalTensor({1, 1, kLength, 8});
  AttentionProblem problem;
  problem.q = q.view<4>();
  problem.k = k.view<4>();
  problem.scale = 1.5f;
  problem.mask.causal = true;
  const Tensor whole({1, 1, kLength, kLength});
  AttentionResults results;
  results.weights = whole.view<4>();
  SimdBackend().Attention(problem, results);
  for (const Backend* backend : TestBackends()) {
    CAPTURE(backend->name());
    const AttentionMaps maps(problem, *backend);
    for (const Index blocks : {2, 7, 40}) {
      const Tensor pooled({blocks, 3}), expected({blocks, 3});
      std::ranges::fill(expected.values(), 0.0f);
      maps.Pooled(0, 0, {}, PoolKind::kMax, pooled.view<2>());
      const View<float, 2> largest = expected.view<2>();
      for (Index t = 0; t < kLength; ++t) {
        const float* row = whole.data() + t * kLength;
        float* to = largest.at(((t + 1) * blocks - 1) / kLength);
        for (Index s = 0; s <= t; ++s) to[s / (kLength / 3)] = std::max(to[s / (kLength / 3)], row[s]);
      }
      CheckClose("pooled", pooled.values(), expected.values(), 64 * kEpsilon);
    }
    for (const RowSummary& row : maps.Summaries(0, 0, 5, 6)) {
      CHECK(row.keys == 6);
      CHECK(row.largest <= 1.0f);
    }
    const Tensor part({40, 50});
    maps.Map(0, 0, {2000, 2040, 1990, 2040}, part.view<2>());
    for (Index t = 0; t < 40; ++t) {
      CheckClose("part", {part.view<2>().at(t), 50}, {whole.view<4>().at(0, 0, 2000 + t, 1990), 50}, 64 * kEpsilon);
      CHECK((part.view<2>()(t, 49) > 0.0f) == (t == 39));  // key 2039 is hidden from all queries before 2039
    }
  }
}

TEST_CASE("parts of maps that do not exist are refused") {
  Random random(73);
  const RandomProblem r = PlainProblem(random, {1, 1, 2, 4, 5, 3, 1});
  const AttentionMaps maps(r.problem, ReferenceBackend());
  const Tensor two({2, 2});
  const auto refuse = [&](const std::string& part, Index h, const MapWindow& window) {
    Refused(ErrorCode::kValue, part, [&] { maps.Map(0, h, window, two.view<2>()); });
    Refused(ErrorCode::kValue, part, [&] { maps.Pooled(0, h, window, PoolKind::kMax, two.view<2>()); });
  };
  refuse("head 2 is not there", 2, {0, 2, 0, 2});
  refuse("head -1 is not there", -1, {0, 2, 0, 2});
  refuse("rows 3 to 5 are not there", 0, {3, 5, 0, 2});
  refuse("rows -1 to 1 are not there", 0, {-1, 1, 0, 2});
  refuse("columns 4 to 6 are not there", 0, {0, 2, 4, 6});
  refuse("columns 3 to 1 are not there", 0, {0, 2, 3, 1});
  Refused(ErrorCode::kShape, "(3, 2)", [&] { maps.Map(0, 0, {0, 3, 0, 2}, two.view<2>()); });
  Refused(ErrorCode::kValue, "cannot be pooled",
          [&] { maps.Pooled(0, 0, {0, 1, 0, 5}, PoolKind::kMean, two.view<2>()); });
  Refused(ErrorCode::kValue, "rows 0 to 5 are not there", [&] { maps.Summaries(0, 0, 0, 5); });
}

/// Holds one picture of a map's part, in which the golden file has `heads` after one another.
void CheckPicture(const AttentionMaps& maps, const MapWindow& window, std::optional<PoolKind> kind,
                  const Tensor& expected) {
  const Shape size{expected.shape()[2], expected.shape()[3]};
  for (Index h = 0; h < maps.heads(); ++h) {
    const Tensor got(size);
    if (kind) {
      maps.Pooled(0, h, window, *kind, got.view<2>());
    } else {
      maps.Map(0, h, window, got.view<2>());
    }
    CheckClose(
        "a picture of PyTorch's", got.values(),
        expected.values().subspan(static_cast<std::size_t>(h * got.size()), static_cast<std::size_t>(got.size())),
        32 * kEpsilon);
  }
}

TEST_CASE("parts and pooled maps are PyTorch's") {
  const std::vector<std::byte> bytes = ReadFile(GoldenFolder("../maps") + "/parts.safetensors");
  const Safetensors file(bytes);
  const auto read = [&](const std::string& name) { return ToFloat(file.Find(name).value()); };
  const Tensor query = read("query"), key = read("key");
  const MapWindow whole{0, query.shape()[2], 0, key.shape()[2]}, part{5, 17, 3, 29};
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const std::string name = causal ? "causal." : "plain.";
    AttentionProblem problem;
    problem.q = query.view<4>();
    problem.k = DeviceView<const float, 4>(key.view<4>());
    problem.scale = 0.25f;
    problem.mask.causal = causal;
    ForEachBackend([&](const Backend& backend) {
      const AttentionMaps maps(problem, backend);
      CheckPicture(maps, part, {}, read(name + "part"));
      CheckPicture(maps, whole, PoolKind::kMax, read(name + "max"));
      CheckPicture(maps, part, {}, read(name + "part"));  // its rows are summarised now
      CheckPicture(maps, part, PoolKind::kMax, read(name + "part_max"));
      CheckPicture(maps, whole, PoolKind::kMean, read(name + "mean"));
    });
  }
}

}  // namespace
}  // namespace headlens::testing
