// SPDX-License-Identifier: Apache-2.0
/// Products of one row with a matrix that is read once, where it lies: decoding is bound by the bytes of the cache.
#if defined(HEADLENS_KERNELS_GEMV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_GEMV_INL_H_
#undef HEADLENS_KERNELS_GEMV_INL_H_
#else
#define HEADLENS_KERNELS_GEMV_INL_H_
#endif

#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

/// kCount rows at a time: each has a sum of its own, so that their additions overlap.
template <Index kCount>
HWY_INLINE void DotRows(const float* x, const float* rows, Index stride, Index width, float* y) {
  const D d;
  const Index lanes = LaneCount();
  V sums[kCount];
  HWY_UNROLL(4)
  for (Index r = 0; r < kCount; ++r) sums[r] = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= width; i += lanes) {
    const V xv = hn::LoadU(d, x + i);
    HWY_UNROLL(4)
    for (Index r = 0; r < kCount; ++r) sums[r] = Fma(xv, hn::LoadU(d, rows + r * stride + i), sums[r]);
  }
  if (i < width) {
    const V xv = LoadSome(x + i, width - i);
    HWY_UNROLL(4)
    for (Index r = 0; r < kCount; ++r) sums[r] = Fma(xv, LoadSome(rows + r * stride + i, width - i), sums[r]);
  }
  HWY_UNROLL(4)
  for (Index r = 0; r < kCount; ++r) y[r] = hn::ReduceSum(d, sums[r]);
}

void Dots(const float* x, const float* rows, Index stride, Index count, Index width, float* y) {
  Index s = 0;
  for (; s + 4 <= count; s += 4) DotRows<4>(x, rows + s * stride, stride, width, y + s);
  for (; s < count; ++s) DotRows<1>(x, rows + s * stride, stride, width, y + s);
}

/// y[0 … columns) = Σ x[s] · row s, added to what is there unless `first`: `columns` are kVectors vectors, or fewer
/// lanes in the last unless kWhole.
template <Index kVectors, bool kWhole>
HWY_INLINE void BlendColumns(const float* x, const float* rows, Index stride, Index count, Index columns, float* y,
                             bool first) {
  const D d;
  const Index lanes = LaneCount(), last = kWhole ? lanes : columns - (kVectors - 1) * lanes;
  V sums[kVectors];
  HWY_UNROLL(8)
  for (Index j = 0; j + 1 < kVectors; ++j) sums[j] = first ? hn::Zero(d) : hn::LoadU(d, y + j * lanes);
  sums[kVectors - 1] = first ? hn::Zero(d) : LoadSome(y + (kVectors - 1) * lanes, last);
  const auto step = static_cast<std::ptrdiff_t>(stride);
  for (const float* const end = x + count; x != end; ++x, rows += step) {
    const V xv = hn::Set(d, *x);
    HWY_UNROLL(8)
    for (Index j = 0; j + 1 < kVectors; ++j) sums[j] = Fma(xv, hn::LoadU(d, rows + j * lanes), sums[j]);
    sums[kVectors - 1] = Fma(xv, LoadSome(rows + (kVectors - 1) * lanes, last), sums[kVectors - 1]);
  }
  HWY_UNROLL(8)
  for (Index j = 0; j + 1 < kVectors; ++j) hn::StoreU(sums[j], d, y + j * lanes);
  StoreSome(sums[kVectors - 1], y + (kVectors - 1) * lanes, last);
}

/// The columns from `j` on, as many at a time as there are.
template <Index kVectors>
void BlendRest(Index j, const float* x, const float* rows, Index stride, Index count, Index width, float* y,
               bool first) {
  const Index most = kVectors * LaneCount();
  if (width - j > most - LaneCount()) {
    BlendColumns<kVectors, false>(x, rows + j, stride, count, HWY_MIN(most, width - j), y + j, first);
    j += most;
  }
  if constexpr (kVectors > 1) BlendRest<kVectors / 2>(j, x, rows, stride, count, width, y, first);
}

void Blend(const float* x, const float* rows, Index stride, Index count, Index width, float* y) {
  constexpr Index kVectors = 8, kNearRows = 16;
  const Index most = kVectors * LaneCount();
  // Where a row takes several turns, few rows at a time: they are near when their next columns' turn comes.
  const Index step = width <= most ? HWY_MAX(count, Index{1}) : kNearRows;
  for (Index s = 0; s == 0 || s < count; s += step) {
    const Index near = HWY_MIN(step, count - s);
    const float* from = rows + s * stride;
    Index j = 0;
    for (; j + most <= width; j += most)
      BlendColumns<kVectors, true>(x + s, from + j, stride, near, most, y + j, s == 0);
    BlendRest<kVectors>(j, x + s, from, stride, near, width, y, s == 0);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_GEMV_INL_H_
