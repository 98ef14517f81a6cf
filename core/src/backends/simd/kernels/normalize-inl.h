// SPDX-License-Identifier: Apache-2.0
/// Kernels for normalisers other than softmax.
#if defined(HEADLENS_KERNELS_NORMALIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_NORMALIZE_INL_H_
#undef HEADLENS_KERNELS_NORMALIZE_INL_H_
#else
#define HEADLENS_KERNELS_NORMALIZE_INL_H_
#endif

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/layers-inl.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

bool AnyNan(const float* x, Index n) {
  const D d;
  const Index lanes = LaneCount();
  auto found = hn::MaskFalse(d);
  for (Index i = 0; i < n; i += lanes) {
    const V v = LoadSome(x + i, HWY_MIN(lanes, n - i));
    found = hn::Or(found, hn::IsNaN(v));
  }
  return !hn::AllFalse(d, found);
}

Index FirstMax(const float* x, Index n) {
  const D d;
  const Index lanes = LaneCount();
  const V max = hn::Set(d, MaxOf(x, n));
  for (Index i = 0; i + lanes <= n; i += lanes) {
    const intptr_t lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + i), max));
    if (lane >= 0) return i + lane;
  }
  Index i = n / lanes * lanes;
  while (i + 1 < n && x[i] != hn::GetLane(max)) ++i;
  return i;
}

/// The number of elements that are at least `least`, which must be above −∞.
HWY_INLINE Index CountFrom(const float* x, Index n, float least) {
  const D d;
  const hn::RebindToSigned<D> di;
  const Index lanes = LaneCount();
  const V from = hn::Set(d, least);
  auto count0 = hn::Zero(di), count1 = hn::Zero(di);  // true is −1 in each lane
  const auto reached = [&](V v) HWY_ATTR { return hn::VecFromMask(di, hn::RebindMask(di, hn::Ge(v, from))); };
  Index i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    count0 = hn::Sub(count0, reached(hn::LoadU(d, x + i)));
    count1 = hn::Sub(count1, reached(hn::LoadU(d, x + i + lanes)));
  }
  Index count = hn::ReduceSum(di, hn::Add(count0, count1));
  for (; i < n; i += lanes) {
    const Index rest = HWY_MIN(lanes, n - i);
    const auto lane = hn::And(hn::Ge(LoadSome(x + i, rest), from), hn::FirstN(d, static_cast<size_t>(rest)));
    count += static_cast<Index>(hn::CountTrue(d, lane));
  }
  return count;
}

/// Maps floats to integers in the same order, and back: negative numbers have all bits but the sign inverted.
HWY_INLINE std::int32_t InOrder(std::int32_t bits) { return bits < 0 ? bits ^ 0x7FFFFFFF : bits; }

/// Finds by bisection a threshold that exactly k elements reach, and masks the elements below it. With ties there may
/// be no such threshold; then it is the k-th largest element.
void KeepLargest(float* x, Index n, Index k) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  if (k >= n || CountFrom(x, n, kLowest) <= k) return;
  std::int64_t low = InOrder(hwy::BitCastScalar<std::int32_t>(kLowest));           // at least k elements reach it
  std::int64_t high = InOrder(hwy::BitCastScalar<std::int32_t>(MaxOf(x, n))) + 1;  // fewer than k elements reach it
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto least = hwy::BitCastScalar<float>(InOrder(static_cast<std::int32_t>(middle)));
    const Index count = CountFrom(x, n, least);
    (count < k ? high : low) = middle;
    if (count == k) break;
  }
  const D d;
  const V least = hn::Set(d, hwy::BitCastScalar<float>(InOrder(static_cast<std::int32_t>(low))));
  const V masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return hn::IfThenElse(hn::Lt(v, least), masked, v); });
}

/// max((x − top) · scale − tau, 0), which is exactly 0 for x = −∞.
HWY_INLINE V HingeOf(V x, V top, V scale, V tau) {
  const V above = hn::Sub(hn::Mul(hn::Sub(x, top), scale), tau);
  return hn::ZeroIfNegative(above);
}

HingeSums SumHinges(const float* x, Index n, float max, float scale, float tau) {
  const D d;
  const V top = hn::Set(d, max), by = hn::Set(d, scale), from = hn::Set(d, tau), one = hn::Set(d, 1.0f);
  V count = hn::Zero(d), sum = hn::Zero(d), squares = hn::Zero(d);
  for (Index i = 0; i < n; i += LaneCount()) {
    const Index lanes = HWY_MIN(LaneCount(), n - i);
    V h = HingeOf(LoadSome(x + i, lanes), top, by, from);
    if (lanes < LaneCount()) h = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(lanes)), h);
    count = hn::Add(count, hn::IfThenElseZero(hn::Gt(h, hn::Zero(d)), one));
    sum = hn::Add(sum, h);
    squares = Fma(h, h, squares);
  }
  return {hn::ReduceSum(d, count), hn::ReduceSum(d, sum), hn::ReduceSum(d, squares)};
}

void Hinge(float* x, Index n, float max, float scale, float tau) {
  const D d;
  const V top = hn::Set(d, max), by = hn::Set(d, scale), from = hn::Set(d, tau);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return HingeOf(v, top, by, from); });
}

void SigmoidRow(float* x, Index n, float bias) {
  const V by = hn::Set(D(), bias);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return Sigmoid(hn::Add(v, by)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_NORMALIZE_INL_H_
