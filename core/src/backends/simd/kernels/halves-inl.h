// SPDX-License-Identifier: Apache-2.0
/// Exact conversion of 16-bit floats of weights, keys and values to fp32.
#if defined(HEADLENS_KERNELS_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_HALVES_INL_H_
#undef HEADLENS_KERNELS_HALVES_INL_H_
#else
#define HEADLENS_KERNELS_HALVES_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

/// Reads vectors of T as fp32. The constants that it needs are made once, outside of the loop.
template <class T>
struct Reader {
  HWY_INLINE V operator()(const T* from) const {
    const hn::Rebind<T, D> d;
    return hn::PromoteTo(D(), hn::LoadU(d, from));
  }
};

template <>
struct Reader<float> {
  HWY_INLINE V operator()(const float* from) const { return hn::LoadU(D(), from); }
};

#if HWY_TARGET == HWY_WASM || (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2)
/// For targets without an instruction for F16. Exponent and mantissa, moved to their places, give the number times
/// 2⁻¹¹², also for subnormal numbers. Infinities and NaN come out as 2¹⁶ or more, and the rest of their exponent is
/// added.
template <>
struct Reader<hwy::float16_t> {
  HWY_INLINE Reader()
      : bits(Constant(-0x1.FFCp-96f)),
        unit(Constant(0x1p112f)),
        limit(Constant(0x1p16f)),
        exponent(Constant(std::numeric_limits<float>::infinity())) {}

  HWY_INLINE V operator()(const hwy::float16_t* from) const {
    const hn::Rebind<std::int16_t, D> d16;
    const hn::RebindToSigned<D> d32;
    const auto wide = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::int16_t*>(from)));
    const V value = hn::Mul(hn::And(hn::BitCast(D(), hn::ShiftLeft<13>(wide)), bits), unit);
    return hn::Or(value, hn::IfThenElseZero(hn::Ge(hn::Abs(value), limit), exponent));
  }

  const V bits;  // 0x8FFFE000: removes the extra copies of the sign
  const V unit, limit, exponent;
};
#endif

/// Reads `count` lanes from `p` on; the other lanes are 0.
HWY_INLINE V ReadSome(const Reader<float>&, const float* p, Index count) { return LoadSome(p, count); }

template <class T>
HEADLENS_INLINE_BUT_WASM V ReadPart(const T* p, Index count) {
  constexpr Index kMost = hn::MaxLanes(D());
  T part[kMost] = {};
  std::copy_n(p, HWY_MIN(count, kMost), part);
  return Reader<T>()(part);
}

template <class T>
HWY_INLINE V ReadSome(const Reader<T>& read, const T* p, Index count) {
  return count == LaneCount() ? read(p) : ReadPart(p, count);
}

/// Calls f with a pointer to the rows' elements, of whichever type they are.
template <class F>
HWY_INLINE void OfType(const HeadRows& rows, const F& f) {
  if (rows.type == DType::kF32) return f(static_cast<const float*>(rows.data));
  f(static_cast<const hwy::bfloat16_t*>(rows.data));
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_HALVES_INL_H_
