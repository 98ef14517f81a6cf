// SPDX-License-Identifier: Apache-2.0
/// The one matrix kernel: projections, Q Kᵀ and weights · V. A is read where it lies, B comes in panels of kVecs
/// vectors.
#if defined(HEADLENS_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_GEMM_INL_H_
#undef HEADLENS_KERNELS_GEMM_INL_H_
#else
#define HEADLENS_KERNELS_GEMM_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

// The register tile, kRows × kVecs vectors: as many accumulators as the registers allow beside kVecs of B and one
// broadcast of A. On x86 WebAssembly engines have 15 registers and spill at 6 × 2 unless multiply-add is one
// instruction.
inline constexpr Index kVecs = 2;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr Index kRows = 12;  // 32 registers
#elif HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64 || (HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__))
inline constexpr Index kRows = 6;
#else
inline constexpr Index kRows = 4;
#endif

// Depth of one pass: a panel of B of this depth (16 KiB at 16 columns) stays in the first-level cache while A's rows go
// by.
inline constexpr Index kDepth = 256;

HWY_INLINE Index PanelWidth() { return kVecs * LaneCount(); }

/// `count` 16-bit floats, whole vectors of them, as fp32; exact.
template <class Half>
HWY_INLINE void Expand(const std::uint16_t* from, Index count, float* HWY_RESTRICT to) {
  const D d;
  const hn::Rebind<Half, D> d16;
  const hn::RebindToUnsigned<decltype(d16)> bits;
  for (Index i = 0; i < count; i += LaneCount())
    hn::StoreU(hn::PromoteTo(d, hn::BitCast(d16, hn::LoadU(bits, from + i))), d, to + i);
}

/// Where rows [p, p + depth) of a panel of B can be read as fp32: in B, or expanded in `scratch`.
HWY_INLINE const float* PanelBlock(const GemmArgs& g, Index panel, Index p, Index depth, float* HWY_RESTRICT scratch) {
  const Index at = panel * g.b_panel + p * g.b_row;
  if (g.b_type == DType::kF32) return static_cast<const float*>(g.b) + at;
  const std::uint16_t* from = static_cast<const std::uint16_t*>(g.b) + at;
  if (g.b_type == DType::kF16) {
    Expand<hwy::float16_t>(from, depth * g.b_row, scratch);
  } else {
    Expand<hwy::bfloat16_t>(from, depth * g.b_row, scratch);
  }
  return scratch;
}

/// One tile: kM rows of A times one panel of B, k deep. `first` starts from the bias or zero instead of C.
template <Index kM>
HWY_INLINE void Tile(const GemmArgs& g, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const float* bias,
                     float* HWY_RESTRICT c, Index columns, Index depth, bool first) {
  const D d;
  const Index lanes = LaneCount();
  V sum[kM][kVecs];
  for (Index j = 0; j < kVecs; ++j) {
    const Index count = std::clamp<Index>(columns - j * lanes, 0, lanes);
    const V start = first && bias ? hn::LoadU(d, bias + j * lanes) : hn::Zero(d);
    for (Index i = 0; i < kM; ++i) sum[i][j] = first ? start : LoadSome(c + i * g.ldc + j * lanes, count);
  }
  // A pointer for each row and pointer-sized steps: in wasm32, an address from 64-bit indices takes four instructions,
  // and costs a fifth of the speed. Unrolling costs more still: the registers are full.
  const float* rows[kM];
  for (Index i = 0; i < kM; ++i) rows[i] = a + i * g.lda;
  const auto steps = static_cast<std::ptrdiff_t>(depth), b_step = static_cast<std::ptrdiff_t>(g.b_row);
  for (std::ptrdiff_t p = 0; p < steps; ++p) {
    V bv[kVecs];
    for (Index j = 0; j < kVecs; ++j) bv[j] = hn::LoadU(d, b + j * lanes);
    b += b_step;
    for (Index i = 0; i < kM; ++i) {
      const V av = hn::Set(d, rows[i][p]);
      for (Index j = 0; j < kVecs; ++j) sum[i][j] = Fma(av, bv[j], sum[i][j]);
    }
  }
  for (Index j = 0; j < kVecs; ++j) {
    const Index count = std::clamp<Index>(columns - j * lanes, 0, lanes);
    for (Index i = 0; i < kM; ++i) {
      float* to = c + i * g.ldc + j * lanes;
      if (count == lanes) {
        hn::StoreU(sum[i][j], d, to);
      } else {
        hn::StoreN(sum[i][j], d, to, static_cast<size_t>(count));
      }
    }
  }
}

/// The last rows, fewer than kRows: the tile of just that height.
template <Index kM>
void LastRows(Index rows, const GemmArgs& g, const float* a, const float* b, const float* bias, float* c, Index columns,
              Index depth, bool first) {
  if constexpr (kM > 0) {
    if (rows == kM) return Tile<kM>(g, a, b, bias, c, columns, depth, first);
    LastRows<kM - 1>(rows, g, a, b, bias, c, columns, depth, first);
  }
}

void Gemm(const GemmArgs& g) {
  const Index width = PanelWidth();
  HWY_ALIGN float expanded[kDepth * kVecs * hn::MaxLanes(D())];
  for (Index p = 0; p == 0 || p < g.k; p += kDepth) {  // once for k = 0: C is the bias
    const Index depth = std::min(kDepth, g.k - p);
    for (Index n = 0, panel = 0; n < g.n; n += width, ++panel) {
      const float* b = PanelBlock(g, panel, p, depth, expanded);
      const float* bias = g.bias ? g.bias + n : nullptr;
      const Index columns = std::min(width, g.n - n);
      Index m = 0;
      for (; m + kRows <= g.m; m += kRows)
        Tile<kRows>(g, g.a + m * g.lda + p, b, bias, g.c + m * g.ldc + n, columns, depth, p == 0);
      if (m < g.m)
        LastRows<kRows - 1>(g.m - m, g, g.a + m * g.lda + p, b, bias, g.c + m * g.ldc + n, columns, depth, p == 0);
    }
  }
}

void PackPanels(const float* src, Index stride, Index rows, Index width, float* HWY_RESTRICT panels) {
  const Index panel_width = PanelWidth();
  for (Index first = 0; first < rows; first += panel_width) {
    const Index columns = std::min(panel_width, rows - first);
    for (Index j = 0; j < panel_width; ++j) {
      const float* from = src + (first + j) * stride;
      for (Index p = 0; p < width; ++p) panels[p * panel_width + j] = j < columns ? from[p] : 0.0f;
    }
    panels += panel_width * width;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_GEMM_INL_H_
