// SPDX-License-Identifier: Apache-2.0
/// Kernels for rows of scores: scale, cap, bias, mask, and the exponentials of the softmax.
#if defined(HEADLENS_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_SOFTMAX_INL_H_
#undef HEADLENS_KERNELS_SOFTMAX_INL_H_
#else
#define HEADLENS_KERNELS_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

inline constexpr float kLog2E = 1.442695041f;

/// 2^y for y ≤ 0, within 2 ulp; exactly 0 below −127 and for −∞; NaN stays NaN. With n the integer nearest to y, 2^y =
/// 2^n · 2^f. Adding 1.5 · 2²³ + 127 leaves n plus the exponent's bias in the low bits of a float, and one shift turns
/// them into 2^n; n = −127 gives 0. For 2^f it uses the minimax polynomial of degree 5 on [−½, ½] whose first
/// coefficient is 1. An object made before a loop keeps its constants in registers.
struct Exp2OfNonPositive {
  V lowest = Constant(-127.0f), magic = Constant(12583039.0f);
  V c1 = Constant(6.9314700e-1f), c2 = Constant(2.4022242e-1f), c3 = Constant(5.5507336e-2f),
    c4 = Constant(9.6715130e-3f), c5 = Constant(1.3264728e-3f), one = Constant(1.0f);

  HWY_INLINE Exp2OfNonPositive() {}  // written out, because the compiler would make it for no target

  HWY_INLINE V operator()(V y) const {
    const D d;
    const hn::RebindToUnsigned<D> du;
    y = Raise(lowest, y);  // this order of arguments keeps a NaN
    const V biased = hn::Add(y, magic);
    const V f = hn::Sub(y, hn::Sub(biased, magic));
    V poly = Fma(c5, f, c4);
    poly = Fma(poly, f, c3);
    poly = Fma(poly, f, c2);
    poly = Fma(poly, f, c1);
    poly = Fma(poly, f, one);
    return hn::Mul(poly, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, biased))));
  }
};

/// exp(x) for x ≤ 0. Its error is that of the power and of the rounding of x · log₂e.
HWY_INLINE V ExpOfNonPositive(V x) { return Exp2OfNonPositive()(hn::Mul(x, hn::Set(D(), kLog2E))); }

/// tanh(x) = sign(x) · (1 − e) / (1 + e) with e = exp(−2|x|), or its series near 0, where the difference would cancel.
HWY_INLINE V Tanh(V x) {
  const D d;
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V e = ExpOfNonPositive(hn::Mul(magnitude, hn::Set(d, -2.0f)));
  const V large = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  const V square = hn::Mul(x, x);  // x − x³/3 + 2x⁵/15 − 17x⁷/315 + 62x⁹/2835
  V series = hn::Set(d, 0.021869489f);
  series = Fma(series, square, hn::Set(d, -0.053968254f));
  series = Fma(series, square, hn::Set(d, 0.13333333f));
  series = Fma(series, square, hn::Set(d, -0.33333333f));
  series = Fma(hn::Mul(series, square), x, x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.2f)), series, large);
}

void Scale(float* x, Index n, float factor) {
  const V by = hn::Set(D(), factor);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return hn::Mul(v, by); });
}

void Softcap(float* x, Index n, float cap) {
  const D d;
  const V to = hn::Set(d, cap), inverse = hn::Set(d, 1.0f / cap);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return hn::Mul(to, Tanh(hn::Mul(v, inverse))); });
}

void AddBias(float* x, Index n, const float* bias) {
  const V masked = hn::Set(D(), -std::numeric_limits<float>::infinity());
  Transform(x, n, [&](V v, Index i, Index count) HWY_ATTR {
    const V b = LoadSome(bias + i, count);
    return hn::IfThenElse(hn::Eq(b, masked), masked, hn::Add(v, b));
  });
}

void MaskRow(float* x, Index n, const std::uint8_t* marks) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> db;
  const V masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  Transform(x, n, [&](V v, Index i, Index count) HWY_ATTR {
    const auto byte =
        count == LaneCount() ? hn::LoadU(db, marks + i) : hn::LoadN(db, marks + i, static_cast<size_t>(count));
    const auto clear = hn::RebindMask(d, hn::Eq(hn::PromoteTo(du, byte), hn::Zero(du)));
    return hn::IfThenElse(clear, v, masked);
  });
}

/// The largest lane of `v`, which holds no NaN. Highway's emulation of vectors begins at the lowest finite number,
/// which is above −∞.
HWY_INLINE float Largest(V v) {
#if HWY_TARGET == HWY_EMU128
  float max = v.raw[0];
  for (const float lane : v.raw) max = HWY_MAX(max, lane);
  return max;
#else
  return hn::ReduceMax(D(), v);
#endif
}

float MaxOf(const float* x, Index n) {
  const D d;
  const Index lanes = LaneCount();
  const V lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  V max0 = lowest, max1 = lowest;
  Index i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    max0 = Raise(hn::LoadU(d, x + i), max0);  // ignores NaN
    max1 = Raise(hn::LoadU(d, x + i + lanes), max1);
  }
  float max = Largest(hn::Max(max0, max1));
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  return max;
}

float ExpSum(float* x, Index n, float max, float factor) {
  const D d;
  const V top = hn::Set(d, max), by = hn::Set(d, factor * kLog2E);
  const Index lanes = LaneCount();
  V sum = hn::Zero(d);  // a single sum: with the constants, a second one does not fit into 16 registers
  const Exp2OfNonPositive exp2;
  const auto power = [&](V v) HWY_ATTR { return exp2(hn::Mul(hn::Sub(v, top), by)); };
  Index i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V e0 = power(hn::LoadU(d, x + i)), e1 = power(hn::LoadU(d, x + i + lanes));
    hn::StoreU(e0, d, x + i);
    hn::StoreU(e1, d, x + i + lanes);
    sum = hn::Add(sum, hn::Add(e0, e1));
  }
  for (; i < n; i += lanes) {
    const Index count = HWY_MIN(lanes, n - i);
    const V e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), power(LoadSome(x + i, count)));
    StoreSome(e, x + i, count);
    sum = hn::Add(sum, e);
  }
  return hn::ReduceSum(d, sum);
}

void StreamRow(const float* HWY_RESTRICT cells, KeyRange filled, Index n, float* HWY_RESTRICT to) {
  const D d;
  const Index lanes = LaneCount();
  const auto cell = [&](Index i) { return i >= filled.begin && i < filled.end ? cells[i] : 0.0f; };
  const auto is_aligned = [](const float* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(V) == 0; };
  Index i = 0;
  for (; i < n && !is_aligned(to + i); ++i) to[i] = cell(i);
  for (; i + lanes <= n; i += lanes) {
    if (i >= filled.begin && i + lanes <= filled.end) {
      hn::Stream(hn::LoadU(d, cells + i), d, to + i);
    } else if (i + lanes <= filled.begin || i >= filled.end) {
      hn::Stream(hn::Zero(d), d, to + i);
    } else {
      for (Index j = i; j < i + lanes; ++j) to[j] = cell(j);
    }
  }
  for (; i < n; ++i) to[i] = cell(i);
}

void AddScaled(float* x, Index n, const float* y, float factor) {
  const V by = hn::Set(D(), factor);
  Transform(x, n, [&](V v, Index i, Index count) HWY_ATTR { return Fma(LoadSome(y + i, count), by, v); });
}

bool AllFinite(const float* x, Index n) {
  const D d;
  const Index lanes = LaneCount();
  const V zero = hn::Zero(d);
  V sum = zero;  // x · 0 is 0, or NaN when x is not finite
  Index i = 0;
  if (n >= 4 * lanes) {  // with one sum, each addition would wait for the one before
    V a = zero, b = zero, c = zero;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      sum = hn::MulAdd(hn::LoadU(d, x + i), zero, sum);
      a = hn::MulAdd(hn::LoadU(d, x + i + lanes), zero, a);
      b = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), zero, b);
      c = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), zero, c);
    }
    sum = hn::Add(hn::Add(sum, a), hn::Add(b, c));
  }
  for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(hn::LoadU(d, x + i), zero, sum);
  float rest = hn::ReduceSum(d, sum);
  for (; i < n; ++i) rest += x[i] * 0.0f;
  return rest == 0.0f;
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_SOFTMAX_INL_H_
