// SPDX-License-Identifier: Apache-2.0
/// Definitions that all kernels share: the vector type, multiply-add, and loops over rows with their tails. The file is
/// included once for each target.
#if defined(HEADLENS_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_VECTOR_INL_H_
#undef HEADLENS_KERNELS_VECTOR_INL_H_
#else
#define HEADLENS_KERNELS_VECTOR_INL_H_
#endif

#include "headlens/tensor.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE Index LaneCount() { return static_cast<Index>(hn::Lanes(D())); }

/// a · b + c. In WebAssembly, Highway uses two instructions; the fused one belongs to an extension, for which there is
/// a separate build.
HWY_INLINE V Fma(V a, V b, V c) {
#if HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__)
  return V{wasm_f32x4_relaxed_madd(a.raw, b.raw, c.raw)};
#else
  return hn::MulAdd(a, b, c);
#endif
}

/// `x` in every lane. WebAssembly engines make a constant again at each use, in three instructions, but one that is
/// read from memory stays in its register during a loop.
HWY_INLINE V Constant(float x) {
#if HWY_TARGET == HWY_WASM
  const volatile float hidden = x;
  return hn::Set(D(), hidden);
#else
  return hn::Set(D(), x);
#endif
}

/// v > least ? v : least in each lane, so a NaN in `v` becomes `least`. It is one instruction on targets whose maximum
/// is defined like this; hn::Max leaves the result for a NaN open.
HWY_INLINE V Raise(V v, V least) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
  return hn::Max(v, least);  // MAXPS: the second operand unless the first is greater
#elif HWY_TARGET == HWY_WASM
  return V{wasm_f32x4_pmax(least.raw, v.raw)};
#else
  return hn::IfThenElse(hn::Gt(v, least), v, least);
#endif
}

// In WebAssembly, moving a part of a vector takes many instructions, which would be downloaded for each inlined copy.
#undef HEADLENS_INLINE_BUT_WASM
#if HWY_ARCH_WASM
#define HEADLENS_INLINE_BUT_WASM HWY_NOINLINE
#else
#define HEADLENS_INLINE_BUT_WASM HWY_INLINE
#endif
HEADLENS_INLINE_BUT_WASM V LoadPart(const float* p, Index count) {
  return hn::LoadN(D(), p, static_cast<size_t>(count));
}
HEADLENS_INLINE_BUT_WASM void StorePart(V v, float* p, Index count) {
  hn::StoreN(v, D(), p, static_cast<size_t>(count));
}

/// Loads `count` lanes from `p` on; the other lanes are 0.
HWY_INLINE V LoadSome(const float* p, Index count) {
  return count == LaneCount() ? hn::LoadU(D(), p) : LoadPart(p, count);
}

/// Stores the first `count` lanes.
HWY_INLINE void StoreSome(V v, float* p, Index count) {
  if (count == LaneCount()) return hn::StoreU(v, D(), p);
  StorePart(v, p, count);
}

/// x[i] ← f(x[i], i…), for whole vectors and one tail. `f` takes a vector and the index of its first lane.
template <class F>
HWY_INLINE void Transform(float* HWY_RESTRICT x, Index n, const F& f) {
  const D d;
  const Index lanes = LaneCount();
  Index i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i), i, lanes), d, x + i);
  if (i < n) StorePart(f(LoadPart(x + i, n - i), i, n - i), x + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_VECTOR_INL_H_
