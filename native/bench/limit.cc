// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

// The same instruction sets as in core/src/backends/simd/kernels/kernels.cc.
#ifndef HWY_DISABLED_TARGETS  // a build may have fewer
#define HWY_DISABLED_TARGETS (HWY_ALL_SVE | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limit.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The number of independent sums: enough for all multiply-adds in flight (two units with a latency of four or five),
// and few enough for 16 registers.
constexpr int kSums = 12;

/// Does `steps` multiply-adds on each of the sums, and returns the number of floating-point operations. The sums start
/// from kSums different `numbers`; the compiler would compute equal sums only once.
double MultiplyAdds(std::int64_t steps, float* numbers) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<hn::ScalableTag<float>>;
  const V factor = hn::Set(d, 0.5f), term = hn::Set(d, 0.25f);
  V sums[kSums];
  for (int j = 0; j < kSums; ++j) sums[j] = hn::Set(d, numbers[j]);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (int j = 0; j < kSums; ++j) sums[j] = hn::MulAdd(sums[j], factor, term);
  }
  for (int j = 0; j < kSums; ++j) numbers[j] = hn::ReduceSum(d, sums[j]);
  return 2.0 * kSums * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlens::bench {

HWY_EXPORT(MultiplyAdds);

double MultiplyAddLimit(int runs) {
  constexpr std::int64_t kSteps = 2'000'000;  // 5 to 20 ms
  double best = 0.0;
  float used = 0.0f;
  for (int run = 0; run < runs; ++run) {
    float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const auto start = std::chrono::steady_clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kSteps, numbers);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / seconds.count());
    used += numbers[0];
  }
  volatile float kept = used;
  (void)kept;
  return best;
}

}  // namespace headlens::bench
#endif  // HWY_ONCE
