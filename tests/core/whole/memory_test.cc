// SPDX-License-Identifier: Apache-2.0
/// Tensors in a backend's own memory, and the functions that move elements without computing, on every backend.
#include <algorithm>
#include <array>
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
  Twins(const Backend& backend, Tensor values) : host(values.Clone()), kept(backend.Keep(std::move(values))) {}
  Tensor host, kept;
};

void CheckEqual(const char* what, const Backend& backend, const Tensor& kept, const Tensor& host) {
  backend.Fetch(kept);
  CheckClose(what, kept.values(), host.values(), 0.0);
}

template <class T, std::size_t Rank>
View<T, Rank> From(View<T, Rank> view, Index offset, const std::array<Index, Rank>& shape) {
  view.data += offset;
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
    const auto compute = [&](const Tensor Twins::* which, const Tensor& y, const Tensor& z) {
      const auto of = [&](const Twins& twins) -> const Tensor& { return twins.*which; };
      const View<const float, 2> columns = From(View<const float, 2>(of(x).view<2>()), 2, {rows, 21});
      backend.Linear(columns, *linear, y.view<2>());
      backend.LayerNorm(y.view<2>(), of(weight).values(), of(bias).values(), 1e-5f, z.view<2>());
      backend.RmsNorm(z.view<2>(), of(weight).values(), 1e-5f, z.view<2>());
      backend.Rotary(DenseView(z.data(), std::array<Index, 3>{rows, heads, width}), of(cosine).view<2>(),
                     of(sine).view<2>(), RotaryPairs::kHalf);
      backend.Gelu(z.values().subspan(3, 20), true);
      backend.Relu(z.values().subspan(30, 11));
      backend.SwiGlu(z.values().subspan(50, 24), of(added).values().subspan(1, 24));
      backend.Add(z.values(), of(added).values());
    };
    const Tensor y({rows, inner}), z({rows, inner}), own_y = backend.Allocate({rows, inner}),
                                                     own_z = backend.Allocate({rows, inner});
    compute(&Twins::host, y, z);
    compute(&Twins::kept, own_y, own_z);
    backend.Finish();
    CheckEqual("linear", backend, own_y, y);
    CheckEqual("all", backend, own_z, z);
    own_z.data()[5] = 7.0f;  // the host writes it, and the backend computes with it
    z.data()[5] = 7.0f;
    backend.Send(own_z);
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
          const Tensor output(out), own_output = backend.Allocate(out), weights(map),
                                    own_weights = backend.Allocate(map);
          const auto run = [&](const AttentionProblem& problem, const Tensor& to, const Tensor& cells) {
            AttentionResults results;
            results.output = to.view<4>();
            if (maps) results.weights = cells.view<4>();
            backend.Attention(problem, results);
          };
          run(r.problem, output, weights);
          AttentionProblem own = r.problem;
          const Tensor q = backend.Keep(r.q.Clone()), k = backend.Keep(r.k.Clone()), v = backend.Keep(r.v.Clone());
          own.q.data = q.data() + (r.problem.q.data - r.q.data());
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
    for (const Tensor* source : {&from.host, &from.kept})
      for (const bool own : {false, true}) {
        const Tensor to = own ? backend.Allocate({2, 3, 9, 8}) : Tensor({2, 3, 9, 8});
        std::ranges::fill(to.values(), 9.0f);
        backend.Send(to);
        const View<const float, 4> heads = {source->data() + 8, part, {4 * 42, 7, 42, 1}};
        backend.Copy(heads, From(to.view<4>(), 2 * 8 + 1, part));
        backend.Fetch(to);
        const View<float, 4> got = to.view<4>();
        for (Index b = 0; b < 2; ++b)
          for (Index h = 0; h < 3; ++h)
            for (Index t = 0; t < 9; ++t)
              for (Index i = 0; i < 8; ++i) {
                const bool inside = t >= 2 && t < 6 && i >= 1 && i < 6;
                CHECK(got(b, h, t, i) ==
                      (inside ? from.host.data()[8 + b * 168 + h * 7 + (t - 2) * 42 + i - 1] : 9.0f));
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
      const Tensor own = backend.Allocate({5, 5}), host({5, 7});
      backend.CopyRows(*weights, rows, own.view<2>());
      backend.CopyRows(*weights, rows, From(host.view<2>(), 1, {5, 5}));
      backend.Fetch(own);
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (Index j = 0; j < 5; ++j) {
          const auto at = static_cast<std::size_t>(rows[i] * 5 + j);
          const float expected =
              half ? std::bit_cast<float>(static_cast<std::uint32_t>(upper[at]) << 16) : table.values()[at];
          CHECK(own.view<2>()(static_cast<Index>(i), j) == expected);
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

TEST_CASE("pooled maps are means over blocks that are equal to within one cell") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(47);
    for (const Index rows : {1, 7, 40})
      for (const Index keys : {1, 9, 300})
        for (const Index blocks : {Index{1}, (rows + 2) / 3, rows})
          for (const Index columns : {Index{1}, (keys + 3) / 4, keys}) {
            Twins x(backend, random.NormalTensor({rows, keys}));
            const Index first = blocks / 2, top = BlockBegin(first, rows, blocks);
            const Backend::Pooling pooling = {rows, blocks, top, first};
            const Tensor own = backend.Allocate({blocks - first, columns}), host({blocks - first, columns}),
                         expected({blocks - first, columns});
            for (Index i = first; i < blocks; ++i)
              for (Index j = 0; j < columns; ++j) {
                double sum = 0.0, cells = 0.0;
                for (Index t = BlockBegin(i, rows, blocks); t < BlockBegin(i + 1, rows, blocks); ++t)
                  for (Index s = BlockBegin(j, keys, columns); s < BlockBegin(j + 1, keys, columns); ++s, ++cells)
                    sum += double{x.host.view<2>()(t, s)};
                expected.view<2>()(i - first, j) = static_cast<float>(sum / cells);
              }
            const auto below = [&](const Tensor& t) { return From(t.view<2>(), top * keys, {rows - top, keys}); };
            backend.Pool(below(x.kept), pooling, own.view<2>());
            backend.Pool(below(x.host), pooling, host.view<2>());
            backend.Fetch(own);
            const double tolerance = 4 * kEpsilon * MaxNorm(x.host.values());
            CheckClose("own", own.values(), expected.values(), tolerance);
            CheckClose("host", host.values(), expected.values(), tolerance);
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

// In WebAssembly the allocator never gives memory back.
#ifndef __EMSCRIPTEN__
constexpr Index kLarge = Index{3} << 19;  // 6 MiB

TEST_CASE("the vector backend's large blocks come back for the next call of about that size") {
  const auto backend = MakeSimdBackend(1);
  const auto address = [&](const Shape& shape) { return backend->Allocate(shape).data(); };
  const float* const block = address({kLarge});
  CHECK(address({3, kLarge / 3}) == block);
  CHECK(address({kLarge / 2}) == block);
  const Tensor first = backend->Allocate({kLarge}), second = backend->Allocate({kLarge});
  CHECK(first.data() == block);
  CHECK(second.data() != block);
  CHECK(backend->Allocate({16}).size() == 16);
  CHECK(backend->Allocate({0, 4}).size() == 0);
  Refused(ErrorCode::kMemory, "too large", [&] { backend->Allocate({Index{1} << 40, Index{1} << 40}); });
}

TEST_CASE("a large block is not lent where little of it is needed, nor more than it has") {
  const auto backend = MakeSimdBackend(1);
  const auto spare = backend->Allocate({4 * kLarge}).data();
  const Tensor less = backend->Allocate({kLarge}), more = backend->Allocate({5 * kLarge}),
               same = backend->Allocate({4 * kLarge});
  CHECK(less.data() != spare);
  CHECK(more.data() != spare);
  CHECK(same.data() == spare);
  for (const Tensor* tensor : {&less, &more, &same}) std::ranges::fill(tensor->values(), 1.0f);
}

TEST_CASE("a large block outlives its backend") {
  Tensor tensor;
  {
    const auto backend = MakeSimdBackend(2);
    tensor = backend->Allocate({kLarge});
    const Tensor other = backend->Allocate({kLarge});
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
          const Tensor tensor = backend->Allocate({kLarge + round});
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
