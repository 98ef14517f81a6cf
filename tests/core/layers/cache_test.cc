// SPDX-License-Identifier: Apache-2.0
/// Decoding with a cache through the C++ interface.
#include "headlens/cache.h"

#include "support.h"

namespace headlens::testing {
namespace {

constexpr Index kHeads = 2, kTokens = 17, kWidth = 8;

View<const float, 4> Part(const Tensor& x, Index first, Index count) {
  View<const float, 4> part = x.view<4>();
  part.data += first * part.strides[2];
  part.shape[2] = count;
  return part;
}

struct Sequence {
  explicit Sequence(Random& random)
      : q(random.NormalTensor({1, kHeads, kTokens, kWidth})),
        k(random.NormalTensor({1, kHeads, kTokens, kWidth})),
        v(random.NormalTensor({1, kHeads, kTokens, kWidth})) {}

  /// The outputs of tokens [first, first + count). Their keys and values are in `cache`, or without one come from k and
  /// v.
  Tensor Outputs(const Backend& backend, Index first, Index count, CausalAlignment alignment, Index window,
                 const KvCache* cache) const {
    AttentionProblem problem;
    problem.q = Part(q, first, count);
    problem.scale = DefaultScale(kWidth);
    problem.mask.causal = true;
    problem.mask.causal_alignment = alignment;
    if (cache) {
      cache->Place(problem);
    } else {
      problem.k = Part(k, 0, first + count);
      problem.v = Part(v, 0, first + count);
      if (window > 0) problem.mask.window_left = window - 1;
    }
    Tensor output({1, kHeads, count, kWidth});
    AttentionResults results;
    results.output = output.view<4>();
    backend.Attention(problem, results);
    return output;
  }

  Tensor q, k, v;
};

TEST_CASE("a cache places the latest queries: step by step the numbers are those of one causal pass") {
  ForEachBackend([](const Backend& backend) {
    Random random(3);
    const Sequence all(random);
    for (const Index window : {0, 1, 4, 30})
      for (const CausalAlignment alignment : {CausalAlignment::kTopLeft, CausalAlignment::kBottomRight}) {
        const Tensor whole = all.Outputs(backend, 0, kTokens, alignment, window, nullptr);
        KvCache cache(window, backend);
        Index first = 0;
        for (const Index count : {3, 1, 5, 1, 1, 6}) {
          cache.Append(Part(all.k, first, count), Part(all.v, first, count));
          const Tensor step = all.Outputs(backend, first, count, alignment, window, &cache);
          for (Index h = 0; h < kHeads; ++h) {
            const auto size = static_cast<std::size_t>(count * kWidth);
            CheckClose("step", {step.view<4>().at(0, h), size}, {whole.view<4>().at(0, h, first), size}, 1e-5);
          }
          first += count;
        }
      }
  });
}

TEST_CASE("a cache places fewer queries than tokens were appended, and those that begin elsewhere") {
  Random random(5);
  const Sequence all(random);
  const Tensor whole = all.Outputs(SimdBackend(), 0, kTokens, CausalAlignment::kTopLeft, 0, nullptr);
  KvCache cache;
  cache.Append(all.k.view<4>(), all.v.view<4>());
  const Tensor last = all.Outputs(SimdBackend(), kTokens - 1, 1, CausalAlignment::kTopLeft, 0, &cache);
  AttentionProblem problem;
  problem.q = Part(all.q, 5, 2);
  problem.scale = DefaultScale(kWidth);
  problem.mask.causal = true;
  problem.mask.window_left = 100;
  cache.Place(problem, 5);
  CHECK(problem.mask.window_left == 100);  // the cache keeps everything
  const Tensor middle({1, kHeads, 2, kWidth});
  AttentionResults results;
  results.output = middle.view<4>();
  SimdBackend().Attention(problem, results);
  for (Index h = 0; h < kHeads; ++h) {
    CheckClose("last", {last.view<4>().at(0, h), kWidth}, {whole.view<4>().at(0, h, kTokens - 1), kWidth}, 1e-5);
    CheckClose("middle", {middle.view<4>().at(0, h), 2 * kWidth}, {whole.view<4>().at(0, h, 5), 2 * kWidth}, 1e-5);
  }
}

TEST_CASE("a cache that has nothing to look at, or too little, says so") {
  Random random(7);
  const Sequence all(random);
  KvCache cache;
  AttentionProblem problem;
  problem.q = all.q.view<4>();
  Refused(ErrorCode::kShape, "the cache holds no keys yet", [&] { cache.Place(problem); });
  cache.Append(Part(all.k, 0, 2), Part(all.v, 0, 2));
  Refused(ErrorCode::kShape, "query has 17 tokens, expected at most the 2 in the cache", [&] { cache.Place(problem); });
}

}  // namespace
}  // namespace headlens::testing
