// SPDX-License-Identifier: Apache-2.0
/// Dropout with the random numbers of philox.h, computed for as many counters at once as a vector has lanes.
#if defined(HEADLENS_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_DROPOUT_INL_H_
#undef HEADLENS_KERNELS_DROPOUT_INL_H_
#else
#define HEADLENS_KERNELS_DROPOUT_INL_H_
#endif

#include "attention/philox.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;

/// The high and the low word of a · b.
HWY_INLINE void MultiplyWide(VU a, VU b, VU& high, VU& low) {
  const DU d;
#if HWY_TARGET == HWY_SCALAR  // it has one lane, and no products of pairs
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  high = hn::Set(d, static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(d, static_cast<std::uint32_t>(product));
#else
  const VU even = hn::BitCast(d, hn::MulEven(a, b)), odd = hn::BitCast(d, hn::MulOdd(a, b));
  high = hn::OddEven(odd, hn::DupOdd(even));
  low = hn::OddEven(hn::DupEven(odd), even);
#endif
}

/// The four words of each counter from `first` on, 4 · LaneCount() words in all.
HWY_INLINE void PhiloxWords(std::uint64_t seed, std::uint64_t first, std::uint32_t* words) {
  const DU d;
  const VU low = hn::Set(d, static_cast<std::uint32_t>(first)), one = hn::Set(d, 1);
  VU x0 = hn::Add(low, hn::Iota(d, 0));
  VU x1 = hn::Add(hn::Set(d, static_cast<std::uint32_t>(first >> 32)), hn::IfThenElseZero(hn::Lt(x0, low), one));
  VU x2 = hn::Zero(d), x3 = hn::Zero(d);
  VU key0 = hn::Set(d, static_cast<std::uint32_t>(seed)), key1 = hn::Set(d, static_cast<std::uint32_t>(seed >> 32));
  for (int round = 0; round < kPhiloxRounds; ++round) {
    VU high_a, low_a, high_b, low_b;
    MultiplyWide(hn::Set(d, kPhiloxFactors[0]), x0, high_a, low_a);
    MultiplyWide(hn::Set(d, kPhiloxFactors[1]), x2, high_b, low_b);
    x0 = hn::Xor3(high_b, x1, key0);
    x1 = low_b;
    x2 = hn::Xor3(high_a, x3, key1);
    x3 = low_a;
    key0 = hn::Add(key0, hn::Set(d, kPhiloxSteps[0]));
    key1 = hn::Add(key1, hn::Set(d, kPhiloxSteps[1]));
  }
  hn::StoreInterleaved4(x0, x1, x2, x3, d, words);
}

void Drop(float* x, Index n, float factor, std::uint64_t seed, std::uint64_t first, std::uint32_t highest) {
  const DU du;
  const Index block = 4 * LaneCount(), lead = static_cast<Index>(first % 4);
  HWY_ALIGN std::uint32_t words[5 * hn::MaxLanes(du)] = {};  // the last vector may reach beyond the block
  const V by = hn::Set(D(), factor);
  const VU dropped = hn::Set(du, highest);
  for (Index i = -lead; i < n; i += block) {
    PhiloxWords(seed, first / 4 + static_cast<std::uint64_t>(i + lead) / 4, words);
    const Index from = HWY_MAX(i, 0), to = HWY_MIN(i + block, n);
    const std::uint32_t* drawn = words + (from - i);
    Transform(x + from, to - from, [&](V v, Index j, Index) HWY_ATTR {
      const auto keeps = hn::RebindMask(D(), hn::Gt(hn::LoadU(du, drawn + j), dropped));
      return hn::IfThenElseZero(keeps, hn::Mul(v, by));
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_DROPOUT_INL_H_
