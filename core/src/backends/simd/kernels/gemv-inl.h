// SPDX-License-Identifier: Apache-2.0
/// Products of one row with a matrix that is read once, where it lies. Decoding is limited by the bytes read from the
/// cache of keys and values.
#if defined(HEADLENS_KERNELS_GEMV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_GEMV_INL_H_
#undef HEADLENS_KERNELS_GEMV_INL_H_
#else
#define HEADLENS_KERNELS_GEMV_INL_H_
#endif

#include "backends/simd/kernels/halves-inl.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

inline constexpr Index kDotRows = 4;

/// y[r · y_step] = x · row r, for kDotRows rows. Each row has its own sum, so that their additions overlap.
template <class T>
HWY_INLINE void DotRows(const float* x, const T* rows, Index stride, Index width, float* y, Index y_step) {
  const D d;
  const Reader<T> read;
  const Index lanes = LaneCount();
  V sums[kDotRows];
  HWY_UNROLL(4)
  for (Index r = 0; r < kDotRows; ++r) sums[r] = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= width; i += lanes) {
    const V xv = hn::LoadU(d, x + i);
    HWY_UNROLL(4)
    for (Index r = 0; r < kDotRows; ++r) sums[r] = Fma(xv, read(rows + r * stride + i), sums[r]);
  }
  if (i < width) {
    const V xv = LoadSome(x + i, width - i);
    HWY_UNROLL(4)
    for (Index r = 0; r < kDotRows; ++r) sums[r] = Fma(xv, ReadSome(read, rows + r * stride + i, width - i), sums[r]);
  }
  HWY_UNROLL(4)
  for (Index r = 0; r < kDotRows; ++r) y[r * y_step] = hn::ReduceSum(d, sums[r]);
}

void Dots(const float* x, const HeadRows& rows, float* y) {
  OfType(rows, [&](const auto* from) {
    for (Index s = 0, count = 0; s < rows.count; s += count) {
      count = s + kDotRows <= rows.count
                  ? kDotRows
                  : 1;  // single rows at the end are computed kDotRows times, into the same place
      DotRows(x, from + s * rows.stride, count > 1 ? rows.stride : 0, rows.width, y + s, count > 1 ? 1 : 0);
    }
  });
}

/// y[0 … columns) = Σ x[s] · row s, plus the previous y unless `first`. The columns are kVectors vectors, the last of
/// which may have fewer lanes unless kWhole.
template <Index kVectors, bool kWhole, class T>
HWY_INLINE void BlendColumns(const float* x, const T* rows, Index stride, Index count, Index columns, float* y,
                             bool first) {
  const D d;
  const Reader<T> read;
  const Index lanes = LaneCount(), last = kWhole ? lanes : columns - (kVectors - 1) * lanes;
  V sums[kVectors];
  HWY_UNROLL(8)
  for (Index j = 0; j + 1 < kVectors; ++j) sums[j] = first ? hn::Zero(d) : hn::LoadU(d, y + j * lanes);
  sums[kVectors - 1] = first ? hn::Zero(d) : LoadSome(y + (kVectors - 1) * lanes, last);
  const auto step = static_cast<std::ptrdiff_t>(stride);
  for (const float* const end = x + count; x != end; ++x, rows += step) {
    const V xv = hn::Set(d, *x);
    HWY_UNROLL(8)
    for (Index j = 0; j + 1 < kVectors; ++j) sums[j] = Fma(xv, read(rows + j * lanes), sums[j]);
    sums[kVectors - 1] = Fma(xv, ReadSome(read, rows + (kVectors - 1) * lanes, last), sums[kVectors - 1]);
  }
  HWY_UNROLL(8)
  for (Index j = 0; j + 1 < kVectors; ++j) hn::StoreU(sums[j], d, y + j * lanes);
  StoreSome(sums[kVectors - 1], y + (kVectors - 1) * lanes, last);
}

/// Computes the columns from `j` on, with as many vectors at a time as there are.
template <Index kVectors, class T>
void BlendRest(Index j, const float* x, const T* rows, Index stride, Index count, Index width, float* y, bool first) {
  const Index most = kVectors * LaneCount();
  if (width - j > most - LaneCount()) {
    BlendColumns<kVectors, false>(x, rows + j, stride, count, HWY_MIN(most, width - j), y + j, first);
    j += most;
  }
  if constexpr (kVectors > 1) BlendRest<kVectors / 2>(j, x, rows, stride, count, width, y, first);
}

template <class T>
void BlendRows(const float* x, const T* rows, Index stride, Index count, Index width, bool accumulate, float* y) {
  constexpr Index kVectors = 8, kNearRows = 16;
  if (count == 0) {  // `rows` may then not be a valid address
    for (Index j = 0; j < width && !accumulate; ++j) y[j] = 0.0f;
    return;
  }
  const Index most = kVectors * LaneCount();
  // A row that takes several turns is read in groups of few rows, which are still in the cache when their next columns
  // are needed.
  const Index step = width <= most ? count : kNearRows;
  for (Index s = 0; s < count; s += step) {
    const Index near = HWY_MIN(step, count - s);
    const T* from = rows + s * stride;
    const bool first = s == 0 && !accumulate;
    Index j = 0;
    for (; j + most <= width; j += most)
      BlendColumns<kVectors, true>(x + s, from + j, stride, near, most, y + j, first);
    if constexpr (HWY_ARCH_WASM && sizeof(T) < sizeof(float)) {
      // WebAssembly has one size for the rest, since pages would have to download the code for each.
      for (; j < width; j += LaneCount())
        BlendColumns<1, false>(x + s, from + j, stride, near, HWY_MIN(LaneCount(), width - j), y + j, first);
    } else {
      BlendRest<kVectors>(j, x + s, from, stride, near, width, y, first);
    }
  }
}

void Blend(const float* x, const HeadRows& rows, bool accumulate, float* y) {
  OfType(rows, [&](const auto* from) { BlendRows(x, from, rows.stride, rows.count, rows.width, accumulate, y); });
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_GEMV_INL_H_
