// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

// The instruction sets of core/src/kernels/kernels.cc.
#define HWY_DISABLED_TARGETS (HWY_ALL_SVE | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limit.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Independent sums: more than any processor has multiply-adds in flight (two units of latency four or five), and few
// enough for 16 registers.
constexpr int kSums = 10;

/// `steps` multiply-adds on each of the sums; returns how many floating-point operations that was. `sink` keeps the
/// results alive.
double MultiplyAdds(std::int64_t steps, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, sink[0]), term = hn::Set(d, sink[1]);
  auto s0 = term, s1 = term, s2 = term, s3 = term, s4 = term, s5 = term, s6 = term, s7 = term, s8 = term, s9 = term;
  for (std::int64_t i = 0; i < steps; ++i) {
    s0 = hn::MulAdd(s0, factor, term);
    s1 = hn::MulAdd(s1, factor, term);
    s2 = hn::MulAdd(s2, factor, term);
    s3 = hn::MulAdd(s3, factor, term);
    s4 = hn::MulAdd(s4, factor, term);
    s5 = hn::MulAdd(s5, factor, term);
    s6 = hn::MulAdd(s6, factor, term);
    s7 = hn::MulAdd(s7, factor, term);
    s8 = hn::MulAdd(s8, factor, term);
    s9 = hn::MulAdd(s9, factor, term);
  }
  const auto even = hn::Add(hn::Add(hn::Add(s0, s2), hn::Add(s4, s6)), s8),
             odd = hn::Add(hn::Add(hn::Add(s1, s3), hn::Add(s5, s7)), s9);
  sink[2] = hn::ReduceSum(d, hn::Add(even, odd));
  return 2.0 * kSums * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlens::bench {

HWY_EXPORT(MultiplyAdds);

double MultiplyAddLimit() {
  constexpr std::int64_t kSteps = 2'000'000;  // 5 to 20 ms
  constexpr int kRuns = 20;
  float sink[3] = {0.5f, 0.25f, 0.0f};
  double best = 0.0;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kSteps, sink);
    best = std::max(best, operations / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  volatile float used = sink[2];
  (void)used;
  return best;
}

}  // namespace headlens::bench
#endif  // HWY_ONCE
