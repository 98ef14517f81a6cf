// SPDX-License-Identifier: Apache-2.0
/// Tensors in a backend's own memory, and the functions that move elements without computing, on every backend.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#ifndef __EMSCRIPTEN__
#include <thread>
#endif
#include <vector>

#include "random_problem.h"

namespace headlens::testing {
namespace {

/// The same values on the host and in the backend's memory.
struct Twins {
  Twins(const Backend& backend, Tensor values) : host(values.Clone()), kept(backend.Upload(std::move(values))) {}
  DeviceTensor host, kept;
};

Tensor Read(const Backend& backend, const DeviceTensor& tensor) { return backend.ReadBack(tensor)->Wait(); }

void CheckEqual(const char* what, const Backend& backend, const DeviceTensor& kept, const DeviceTensor& host) {
  CheckClose(what, Read(backend, kept).values(), host.host().values(), 0.0);
}

template <class T, std::size_t Rank>
DeviceView<T, Rank> From(DeviceView<T, Rank> view, Index offset, const std::array<Index, Rank>& shape) {
  view.data = view.data + offset;
  view.shape = shape;
  return view;
}

TEST_CASE("operations on a backend's own tensors, and on views of them, give what those of the host give") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(31);
    const Index rows = 7, heads = 3, width = 8, inner = heads * width;
    const auto linear =
        backend.PackLinear(random.NormalTensor({inner, 21}).view<2>(), random.NormalTensor({inner}).values());
    Twins x(backend, random.NormalTensor({rows, 24})), weight(backend, random.NormalTensor({inner})),
        bias(backend, random.NormalTensor({inner})), cosine(backend, random.NormalTensor({rows, width / 2})),
        sine(backend, random.NormalTensor({rows, width / 2})), added(backend, random.NormalTensor({rows, inner}));
    const auto compute = [&](const DeviceTensor Twins::* which, const DeviceTensor& y, const DeviceTensor& z) {
      const auto of = [&](const Twins& twins) -> const DeviceTensor& { return twins.*which; };
      const DeviceView<const float, 2> columns = From(of(x).view<2>(), 2, {rows, 21});
      backend.Linear(columns, *linear, y.view<2>());
      backend.LayerNorm(y.view<2>(), of(weight).values(), of(bias).values(), 1e-5f, z.view<2>());
      backend.RmsNorm(z.view<2>(), of(weight).values(), 1e-5f, z.view<2>());
      backend.Rotary(DenseView(z.data(), std::array<Index, 3>{rows, heads, width}), of(cosine).view<2>(),
                     of(sine).view<2>(), RotaryPairs::kHalf);
      backend.Gelu(From(z.values(), 3, {20}), true);
      backend.Relu(From(z.values(), 30, {11}));
      backend.Silu(From(z.values(), 50, {24}));
      backend.Add(z.values(), of(added).values());
      backend.Multiply(z.values(), of(added).values());
    };
    const DeviceTensor y = Tensor({rows, inner}), z = Tensor({rows, inner}), own_y = backend.Allocate({rows, inner}),
                       own_z = backend.Allocate({rows, inner});
    compute(&Twins::host, y, z);
    compute(&Twins::kept, own_y, own_z);
    backend.Finish();
    CheckEqual("linear", backend, own_y, y);
    CheckEqual("all", backend, own_z, z);
    const Tensor seven({1, 1, 1, 1}, std::array{7.0f});  // the host writes, the backend computes with it
    for (const DeviceTensor* to : {&own_z, &z}) backend.Copy(seven.view<4>(), {to->data() + 5, {1, 1, 1, 1}, {}});
    backend.Add(own_z.values(), added.kept.values());
    backend.Add(z.values(), added.host.values());
    CheckEqual("sent", backend, own_z, z);
  });
}

TEST_CASE("attention on a backend's own tensors gives what that on the host's gives, in either order of heads") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(37);
    for (const ProblemSizes& n : {ProblemSizes{2, 2, 4, 5, 9, 8, 6}, ProblemSizes{1, 2, 2, 70, 65, 33, 33}})
      for (const GqaOrder order : {GqaOrder::kBlock, GqaOrder::kInterleaved})
        for (const bool maps : {false, true}) {
          CAPTURE(maps);
          RandomProblem r = PlainProblem(random, n);
          r.problem.gqa_order = order;
          r.problem.mask.causal = true;
          const Shape out = {n.batch, n.heads, n.queries, n.value_width}, map = {n.batch, n.heads, n.queries, n.keys};
          const DeviceTensor output = Tensor(out), own_output = backend.Allocate(out), weights = Tensor(map),
                             own_weights = backend.Allocate(map);
          const auto run = [&](const AttentionProblem& problem, const DeviceTensor& to, const DeviceTensor& cells) {
            AttentionResults results;
            results.output = to.view<4>();
            if (maps) results.weights = cells.view<4>();
            backend.Attention(problem, results);
          };
          run(r.problem, output, weights);
          AttentionProblem own = r.problem;
          const DeviceTensor q = backend.Upload(r.q.Clone()), k = backend.Upload(r.k.Clone()),
                             v = backend.Upload(r.v.Clone());
          own.q.data = q.data() + (r.problem.q.data.host() - r.q.data());
          own.k = SplitHeads(k.view<3>(), r.problem.k.shape[1]);
          own.v = SplitHeads(v.view<3>(), r.problem.v.shape[1]);
          run(own, own_output, own_weights);
          CheckEqual("output", backend, own_output, output);
          if (maps) CheckEqual("weights", backend, own_weights, weights);
        }
  });
}

TEST_CASE("copies between a backend's tensors and the host's, whatever their strides") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(41);
    const std::array<Index, 4> part = {2, 3, 4, 5};
    Twins from(backend, random.NormalTensor({2, 4, 6, 7}));  // as [B, T, H, d]
    for (const DeviceTensor* source : {&from.host, &from.kept})
      for (const bool own : {false, true}) {
        Tensor nines({2, 3, 9, 8});
        std::ranges::fill(nines.values(), 9.0f);
        const DeviceTensor to = own ? backend.Upload(std::move(nines)) : std::move(nines);
        const DeviceView<const float, 4> heads = {source->data() + 8, part, {4 * 42, 7, 42, 1}};
        backend.Copy(heads, From(to.view<4>(), 2 * 8 + 1, part));
        const Tensor copied = Read(backend, to), all = from.host.host();
        const View<float, 4> got = copied.view<4>();
        for (Index b = 0; b < 2; ++b)
          for (Index h = 0; h < 3; ++h)
            for (Index t = 0; t < 9; ++t)
              for (Index i = 0; i < 8; ++i) {
                const bool inside = t >= 2 && t < 6 && i >= 1 && i < 6;
                CHECK(got(b, h, t, i) == (inside ? all.data()[8 + b * 168 + h * 7 + (t - 2) * 42 + i - 1] : 9.0f));
              }
      }
    CHECK_THROWS_AS(backend.Copy(from.host.view<4>(), From(from.kept.view<4>(), 0, {2, 4, 6, 6})), Error);
  });
}

TEST_CASE("rows of weights of every type, onto the host and onto the backend") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(43);
    const Tensor table = random.NormalTensor({9, 5});
    std::vector<std::uint16_t> upper;  // bf16
    for (const float x : table.values())
      upper.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
    const std::vector<std::int32_t> rows = {8, 0, 3, 3, 1};
    for (const bool half : {false, true}) {
      const auto weights = backend.PackLinear(
          half ? WeightMatrix(DType::kBF16, reinterpret_cast<const std::byte*>(upper.data()), 9, 5, 5, 1)
               : WeightMatrix(table.view<2>()),
          {});
      const DeviceTensor own = backend.Allocate({5, 5});
      const Tensor host({5, 7});
      backend.CopyRows(*weights, rows, own.view<2>());
      backend.CopyRows(*weights, rows, From(DeviceView<float, 2>(host.view<2>()), 1, {5, 5}));
      const Tensor copied = Read(backend, own);
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (Index j = 0; j < 5; ++j) {
          const auto at = static_cast<std::size_t>(rows[i] * 5 + j);
          const float expected =
              half ? std::bit_cast<float>(static_cast<std::uint32_t>(upper[at]) << 16) : table.values()[at];
          CHECK(copied.view<2>()(static_cast<Index>(i), j) == expected);
          CHECK(host.view<2>()(static_cast<Index>(i), 1 + j) == expected);
        }
      for (const std::int32_t wrong : {-1, 9}) {
        const std::vector<std::int32_t> one = {wrong};
        Refused(ErrorCode::kValue, "expected 0 to 8",
                [&] { backend.CopyRows(*weights, one, From(own.view<2>(), 0, {1, 5})); });
      }
    }
  });
}

TEST_CASE("pooled maps are means or largest numbers over blocks that are equal to within one cell") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(47);
    for (const Index rows : {1, 7, 40})
      for (const Index keys : {1, 9, 300})
        for (const Index blocks : {Index{1}, (rows + 2) / 3, rows})
          for (const Index columns : {Index{1}, (keys + 3) / 4, keys}) {
            Twins x(backend, random.NormalTensor({rows, keys}));
            const Index first = blocks / 2, top = BlockBegin(first, rows, blocks);
            const Tensor host({blocks - first, columns}), mean({blocks - first, columns}),
                largest({blocks - first, columns}), map = x.host.host();
            for (Index i = first; i < blocks; ++i)
              for (Index j = 0; j < columns; ++j) {
                double sum = 0.0, cells = 0.0, most = -std::numeric_limits<double>::infinity();
                for (Index t = BlockBegin(i, rows, blocks); t < BlockBegin(i + 1, rows, blocks); ++t)
                  for (Index s = BlockBegin(j, keys, columns); s < BlockBegin(j + 1, keys, columns); ++s, ++cells) {
                    sum += double{map.view<2>()(t, s)};
                    most = std::max(most, double{map.view<2>()(t, s)});
                  }
                mean.view<2>()(i - first, j) = static_cast<float>(sum / cells);
                largest.view<2>()(i - first, j) = static_cast<float>(most);
              }
            const auto below = [&](const DeviceTensor& t) { return From(t.view<2>(), top * keys, {rows - top, keys}); };
            for (const PoolKind kind : {PoolKind::kMean, PoolKind::kMax}) {
              const Backend::Pooling pooling = {rows, blocks, top, first, kind};
              const DeviceTensor own = backend.Allocate({blocks - first, columns});
              backend.Pool(below(x.kept), pooling, own.view<2>());
              backend.Pool(below(x.host), pooling, host.view<2>());
              const bool is_mean = kind == PoolKind::kMean;
              const double tolerance = is_mean ? 4 * kEpsilon * MaxNorm(map.values()) : 0.0;
              const Tensor& expected = is_mean ? mean : largest;
              CheckClose("own", Read(backend, own).values(), expected.values(), tolerance);
              CheckClose("host", host.values(), expected.values(), tolerance);
            }
          }
    Tensor nan({3, 4});
    std::ranges::fill(nan.values(), 0.0f);
    nan.view<2>()(1, 2) = std::numeric_limits<float>::quiet_NaN();
    for (const PoolKind kind : {PoolKind::kMean, PoolKind::kMax}) {
      const Tensor pooled({1, 2});
      backend.Pool(nan.view<2>(), {3, 1, 0, 0, kind}, pooled.view<2>());
      CHECK(pooled.values()[0] == 0.0f);
      CHECK(std::isnan(pooled.values()[1]));
    }
    const Tensor x({4, 4}), y({2, 2});
    const auto refuse = [&](const Backend::Pooling& pooling) {
      Refused(ErrorCode::kValue, "cannot be pooled", [&] { backend.Pool(x.view<2>(), pooling, y.view<2>()); });
    };
    refuse({4, 1, 0, 0});  // more blocks than cells
    refuse({4, 5, 0, 0});  // empty blocks
    refuse({8, 2, 0, 0});  // x ends too early
    refuse({4, 2, 1, 0});  // x begins too late
    refuse({4, 2, 0, -1});
  });
}

TEST_CASE("tensors are read back now or later, into memory that is given where the backend's is another") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(53);
    const Tensor expected = random.NormalTensor({3, 5});
    const DeviceTensor kept = backend.Upload(expected.Clone());
    Tensor memory({15});
    const float* const address = memory.data();
    const Tensor got = backend.ReadBack(kept, std::move(memory))->Wait();
    CHECK(got.shape() == expected.shape());
    CheckClose("waited for", got.values(), expected.values(), 0.0);
    if (kept.storage()) CHECK(got.data() == address);
    int calls = 0;
    backend.ReadBack(kept)->Then([&](Reading& reading) {
      ++calls;
      CheckClose("called with", reading.Wait().values(), expected.values(), 0.0);
    });
    CHECK(calls == 1);
    const DeviceTensor nothing = backend.Upload(Tensor());  // as the bias of a norm that has none
    CHECK(nothing.size() == 0);
    CHECK(nothing.values().shape[0] == 0);
    CHECK(nothing.host().size() == 0);
    CHECK(backend.Upload(nothing.host()).size() == 0);
  });
}

TEST_CASE("a tensor of another backend is refused") {
  struct Elsewhere : Storage {};
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    const DeviceTensor other({2, 4}, std::make_shared<Elsewhere>());
    const Tensor own({2, 4}, std::vector<float>(8, 1.0f));
    const auto weights = backend.PackLinear(Tensor({4, 4}, std::vector<float>(16, 1.0f)).view<2>(), {});
    const auto refuse = [&](const std::function<void()>& use) {
      Refused(ErrorCode::kUnsupported, "another backend", use);
    };
    refuse([&] { backend.Linear(other.view<2>(), *weights, own.view<2>()); });
    refuse([&] { backend.Linear(own.view<2>(), *weights, other.view<2>()); });
    refuse([&] { backend.Add(own.values(), other.values()); });
    refuse([&] { backend.RmsNorm(own.view<2>(), From(other.values(), 0, {4}), 1e-5f, own.view<2>()); });
    refuse([&] { backend.ReadBack(other)->Wait(); });
    const std::array<Index, 4> heads = {1, 1, 2, 4};
    AttentionProblem problem;
    problem.q = DenseView(own.data(), heads);
    problem.k = problem.v = DenseView(own.data(), heads);
    AttentionResults results;
    const Tensor output({1, 1, 2, 4});
    results.output = output.view<4>();
    for (const int part : {0, 1, 2, 3}) {
      AttentionProblem some = problem;
      AttentionResults there = results;
      const DeviceView<float, 4> view = DenseView(other.data(), heads);
      if (part == 0) some.q = view;
      if (part == 1) some.k = view;
      if (part == 2) some.v = view;
      if (part == 3) there.output = view;
      refuse([&] { backend.Attention(some, there); });
    }
  });
}

TEST_CASE("attention to no keys fills a backend's own tensor, too") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    const Tensor nothing({1, 2, 0, 3}), q({1, 2, 4, 3}, std::vector<float>(24, 1.0f));
    const DeviceTensor own = backend.Upload(q.Clone());
    AttentionProblem problem;
    problem.q = own.view<4>();
    problem.k = problem.v = nothing.view<4>();
    const DeviceTensor output = backend.Upload(q.Clone());
    AttentionResults results;
    results.output = output.view<4>();
    backend.Attention(problem, results);
    CheckClose("output", Read(backend, output).values(), std::vector<float>(24, 0.0f), 0.0);
  });
}

// In WebAssembly the allocator never gives memory back.
#ifndef __EMSCRIPTEN__
constexpr Index kLarge = Index{3} << 19;  // 6 MiB

TEST_CASE("the vector backend's large blocks come back for the next call of about that size") {
  const auto backend = MakeSimdBackend(1);
  const auto address = [&](const Shape& shape) { return backend->Allocate(shape).data().host(); };
  const float* const block = address({kLarge});
  CHECK(address({3, kLarge / 3}) == block);
  CHECK(address({kLarge / 2}) == block);
  const DeviceTensor first = backend->Allocate({kLarge}), second = backend->Allocate({kLarge});
  CHECK(first.data().host() == block);
  CHECK(second.data().host() != block);
  CHECK(backend->Allocate({16}).size() == 16);
  CHECK(backend->Allocate({0, 4}).size() == 0);
  Refused(ErrorCode::kMemory, "can be addressed", [&] { backend->Allocate({Index{1} << 40, Index{1} << 40}); });
}

TEST_CASE("a large block is not lent where little of it is needed, nor more than it has") {
  const auto backend = MakeSimdBackend(1);
  const auto spare = backend->Allocate({4 * kLarge}).data().host();
  const DeviceTensor less = backend->Allocate({kLarge}), more = backend->Allocate({5 * kLarge}),
                     same = backend->Allocate({4 * kLarge});
  CHECK(less.data().host() != spare);
  CHECK(more.data().host() != spare);
  CHECK(same.data().host() == spare);
  for (const DeviceTensor* tensor : {&less, &more, &same}) std::ranges::fill(tensor->host().values(), 1.0f);
}

TEST_CASE("a large block outlives its backend") {
  Tensor tensor;
  {
    const auto backend = MakeSimdBackend(2);
    tensor = backend->Allocate({kLarge}).host();
    const DeviceTensor other = backend->Allocate({kLarge});
  }
  std::ranges::fill(tensor.values(), 2.0f);
  CHECK(tensor.values().back() == 2.0f);
}

TEST_CASE("threads that share a backend never share a block") {
  const auto backend = MakeSimdBackend(1);
  std::array<Index, 4> strangers{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < strangers.size(); ++i) {
      threads.emplace_back([&backend, &stranger = strangers[i], mine = static_cast<float>(i)] {
        for (int round = 0; round < 20; ++round) {
          const Tensor tensor = backend->Allocate({kLarge + round}).host();
          std::ranges::fill(tensor.values(), mine);
          stranger += std::ranges::count_if(tensor.values(), [mine](float value) { return value != mine; });
        }
      });
    }
  }
  for (const Index count : strangers) CHECK(count == 0);
}
#endif

}  // namespace
}  // namespace headlens::testing
