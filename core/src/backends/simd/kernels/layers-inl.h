// SPDX-License-Identifier: Apache-2.0
/// Kernels for norms, rotary positions and activations.
#if defined(HEADLENS_KERNELS_LAYERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_LAYERS_INL_H_
#undef HEADLENS_KERNELS_LAYERS_INL_H_
#else
#define HEADLENS_KERNELS_LAYERS_INL_H_
#endif

#include <cmath>

#include "backends/simd/kernels/softmax-inl.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

/// Σ f(x[i]), without the lanes after the end of the row.
template <class F>
HWY_INLINE float SumOf(const float* x, Index n, const F& f) {
  const D d;
  const Index lanes = LaneCount();
  V sum = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, f(hn::LoadU(d, x + i)));
  if (i < n) {
    const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::IfThenElseZero(rest, f(LoadPart(x + i, n - i))));
  }
  return hn::ReduceSum(d, sum);
}

/// y[i] ← f(x[i], i, count); y may be x.
template <class F>
HWY_INLINE void Map(const float* x, Index n, float* y, const F& f) {
  const D d;
  const Index lanes = LaneCount();
  Index i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i), i, lanes), d, y + i);
  if (i < n) StorePart(f(LoadPart(x + i, n - i), i, n - i), y + i, n - i);
}

void RmsNorm(const float* x, Index n, const float* weight, float eps, float* y) {
  const float squares = SumOf(x, n, [](V v) HWY_ATTR { return hn::Mul(v, v); });
  const V factor = hn::Set(D(), 1.0f / std::sqrt(squares / static_cast<float>(n) + eps));
  Map(x, n, y,
      [&](V v, Index i, Index count) HWY_ATTR { return hn::Mul(hn::Mul(v, factor), LoadSome(weight + i, count)); });
}

void LayerNorm(const float* x, Index n, const float* weight, const float* bias, float eps, float* y) {
  const D d;
  const auto width = static_cast<float>(n);
  const V mean = hn::Set(d, SumOf(x, n, [](V v) HWY_ATTR { return v; }) / width);
  const float squares = SumOf(x, n, [&](V v) HWY_ATTR { return hn::Mul(hn::Sub(v, mean), hn::Sub(v, mean)); });
  const V factor = hn::Set(d, 1.0f / std::sqrt(squares / width + eps));
  Map(x, n, y, [&](V v, Index i, Index count) HWY_ATTR {
    const V normal = hn::Mul(hn::Sub(v, mean), factor);
    return Fma(normal, LoadSome(weight + i, count), bias ? LoadSome(bias + i, count) : hn::Zero(d));
  });
}

void Rotate(float* x, Index half, const float* cosine, const float* sine) {
  const Index lanes = LaneCount();
  for (Index i = 0; i < half; i += lanes) {
    const Index count = HWY_MIN(lanes, half - i);
    const V a = LoadSome(x + i, count), b = LoadSome(x + half + i, count);
    const V c = LoadSome(cosine + i, count), s = LoadSome(sine + i, count);
    StoreSome(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), x + i, count);
    StoreSome(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), x + half + i, count);
  }
}

void RotateInterleaved(float* x, Index half, const float* cosine, const float* sine) {
  const D d;
  const Index lanes = LaneCount();
  Index i = 0;
  for (; i + lanes <= half; i += lanes) {
    V a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const V c = hn::LoadU(d, cosine + i), s = hn::LoadU(d, sine + i);
    hn::StoreInterleaved2(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, x + 2 * i);
  }
  for (; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = b * cosine[i] + a * sine[i];
  }
}

/// 1 / (1 + exp(−x)), from the exponential of −|x| so that nothing overflows.
HWY_INLINE V Sigmoid(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const V e = ExpOfNonPositive(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

void Silu(float* x, Index n) {
  Transform(x, n, [](V z, Index, Index) HWY_ATTR { return hn::Mul(z, Sigmoid(z)); });
}

/// erf(x) within 2e-7 (Abramowitz & Stegun 1964, 7.1.26).
HWY_INLINE V Erf(V x) {
  const D d;
  const V magnitude = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V t = hn::Div(one, Fma(hn::Set(d, 0.3275911f), magnitude, one));
  V poly = hn::Set(d, 1.061405429f);
  poly = Fma(poly, t, hn::Set(d, -1.453152027f));
  poly = Fma(poly, t, hn::Set(d, 1.421413741f));
  poly = Fma(poly, t, hn::Set(d, -0.284496736f));
  poly = Fma(poly, t, hn::Set(d, 0.254829592f));
  const V tail = hn::Mul(hn::Mul(poly, t), ExpOfNonPositive(hn::Neg(hn::Mul(x, x))));
  return hn::CopySign(hn::Sub(one, tail), x);
}

void GeluErf(float* x, Index n) {
  const D d;
  const V half = hn::Set(d, 0.5f), sqrt_half = hn::Set(d, 0.70710678f);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR {
    const V h = hn::Mul(v, half);
    return Fma(h, Erf(hn::Mul(v, sqrt_half)), h);
  });
}

void GeluTanh(float* x, Index n) {
  const D d;
  const V half = hn::Set(d, 0.5f), linear = hn::Set(d, 0.79788456f), cubic = hn::Set(d, 0.79788456f * 0.044715f);
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR {
    const V h = hn::Mul(v, half);
    return Fma(h, Tanh(hn::Mul(v, Fma(cubic, hn::Mul(v, v), linear))), h);
  });
}

void Relu(float* x, Index n) {
  const V zero = hn::Zero(D());
  Transform(x, n, [&](V v, Index, Index) HWY_ATTR { return hn::IfThenElse(hn::Lt(v, zero), zero, v); });
}

void Add(float* x, Index n, const float* y) {
  Transform(x, n, [&](V v, Index i, Index count) HWY_ATTR { return hn::Add(v, LoadSome(y + i, count)); });
}

void Multiply(float* x, Index n, const float* y) {
  Transform(x, n, [&](V v, Index i, Index count) HWY_ATTR { return hn::Mul(v, LoadSome(y + i, count)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_LAYERS_INL_H_
