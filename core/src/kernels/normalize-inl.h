// SPDX-License-Identifier: Apache-2.0
/// Rows of scores under the normalisers that are not softmax.
#if defined(HEADLENS_KERNELS_NORMALIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_NORMALIZE_INL_H_
#undef HEADLENS_KERNELS_NORMALIZE_INL_H_
#else
#define HEADLENS_KERNELS_NORMALIZE_INL_H_
#endif

#include "kernels/kernels.h"
#include "kernels/layers-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

/// max((x − top) · scale − tau, 0); exactly 0 for x = −∞.
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
