// SPDX-License-Identifier: Apache-2.0
/// Kernels for rows of marks, which have a byte for each key.
#if defined(HEADLENS_KERNELS_MARKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_MARKS_INL_H_
#undef HEADLENS_KERNELS_MARKS_INL_H_
#else
#define HEADLENS_KERNELS_MARKS_INL_H_
#endif

#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

/// marks[i] |= f(i, count) for elements of bytes or words, whose vectors have the lanes of `d`.
template <class DX, class F>
HWY_INLINE void AddMarks(DX d, Index n, std::uint8_t* HWY_RESTRICT marks, const F& f) {
  const hn::Rebind<std::uint8_t, DX> db;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Or(hn::LoadU(db, marks + i), f(i, lanes)), db, marks + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  hn::StoreN(hn::Or(hn::LoadN(db, marks + i, rest), f(i, n - i)), db, marks + i, rest);
}

/// Converts lanes of bytes or words to bytes.
template <class DX>
HWY_INLINE auto ToBytes(DX /*d*/, hn::Vec<DX> v) {
  if constexpr (sizeof(hn::TFromD<DX>) == 1) {
    return v;
  } else {
    return hn::DemoteTo(hn::Rebind<std::uint8_t, DX>(), hn::BitCast(hn::RebindToSigned<DX>(), v));
  }
}

template <class T>
void MarkCells(const T* HWY_RESTRICT x, Index n, T value, bool when_equal, std::uint8_t* HWY_RESTRICT marks) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto wanted = hn::Set(d, value);
  const auto equal = hn::Set(du, when_equal ? 1 : 0), other = hn::Set(du, when_equal ? 0 : 1);
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  AddMarks(du, n, marks, [&](Index i, Index count) HWY_ATTR {
    const auto v = count == lanes ? hn::LoadU(d, x + i) : hn::LoadN(d, x + i, static_cast<size_t>(count));
    return ToBytes(du, hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, wanted)), equal, other));
  });
}

/// Each lane counts its distance from the last unmarked key, modulo the step.
void MarkOffStep(Index n, Index first, Index step, std::uint8_t* marks) {
  const hn::ScalableTag<std::int32_t> d;
  const auto by = static_cast<std::int32_t>(step), lanes = static_cast<std::int32_t>(hn::Lanes(d));
  HWY_ALIGN std::int32_t start[hn::MaxLanes(d)];
  for (std::int32_t i = 0; i < lanes; ++i) start[i] = (i + by - static_cast<std::int32_t>(first)) % by;
  auto distance = hn::Load(d, start);
  const auto ahead = hn::Set(d, lanes % by), whole = hn::Set(d, by), one = hn::Set(d, 1);
  AddMarks(d, n, marks, [&](Index, Index) HWY_ATTR {
    const auto bytes = ToBytes(d, hn::IfThenElseZero(hn::Ne(distance, hn::Zero(d)), one));
    distance = hn::Add(distance, ahead);
    distance = hn::IfThenElse(hn::Lt(distance, whole), distance, hn::Sub(distance, whole));
    return bytes;
  });
}

void MarkUnless(const std::uint8_t* HWY_RESTRICT x, const std::uint8_t* HWY_RESTRICT except, Index n,
                std::uint8_t* HWY_RESTRICT marks) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  AddMarks(d, n, marks, [&](Index i, Index count) HWY_ATTR {
    const auto rest = static_cast<size_t>(count);
    return count == lanes ? hn::AndNot(hn::LoadU(d, except + i), hn::LoadU(d, x + i))
                          : hn::AndNot(hn::LoadN(d, except + i, rest), hn::LoadN(d, x + i, rest));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_MARKS_INL_H_
