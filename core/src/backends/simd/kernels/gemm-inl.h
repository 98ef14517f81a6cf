// SPDX-License-Identifier: Apache-2.0
/// The matrix kernel for projections, Q Kᵀ and weights · V. A is read where it lies, and B comes in panels that are
/// kVecs vectors wide.
#if defined(HEADLENS_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLENS_KERNELS_GEMM_INL_H_
#undef HEADLENS_KERNELS_GEMM_INL_H_
#else
#define HEADLENS_KERNELS_GEMM_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "backends/simd/kernels/halves-inl.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

// A tile of kRows × kVecs vectors is kept in registers: as many sums as fit beside kVecs vectors of B and one broadcast
// element of A. WebAssembly engines on x86 have 15 registers and spill 6 × 2 sums, unless multiply-add is one
// instruction.
inline constexpr Index kVecs = 2;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr Index kRows = 12;  // of the 32 registers, 24 hold sums
#elif HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64 || (HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__))
inline constexpr Index kRows = 6;
#else
inline constexpr Index kRows = 4;
#endif

// One pass takes kDepth rows of B and at most kPassRows rows of A and C. A panel of B of this depth (16 KiB at 16
// columns) stays in the first-level cache while the rows of A are read, and the rows of A (144 KiB) stay in the
// second-level cache while the panels are read. With AVX-512 a panel would fill the first-level cache at any useful
// depth. But there a tile reads so slowly that the large second-level cache keeps up, and a greater depth reads and
// writes C less often.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr Index kDepth = 768;
#else
inline constexpr Index kDepth = 256;
#endif
inline constexpr Index kPassRows = 144;

// With few rows, the speed is that at which B comes from memory, which is faster in longer pieces.
inline constexpr Index kFewRows = HWY_ARCH_WASM ? 12 : kRows, kMostDepth = 768;
static_assert(kMostDepth >= kDepth);

// Up to this many rows expand 16-bit weights in registers; more rows expand them once, into memory. WebAssembly has
// only one height, since pages would have to download the code for each.
inline constexpr Index kDirectRows = HWY_ARCH_WASM ? 1 : kRows > 8 ? 8 : 4;

/// The number of rows of B in one pass, for this number of rows of A.
HWY_INLINE Index DepthFor(Index rows) { return rows <= kFewRows ? kMostDepth : kDepth; }

// An x86 address can be a pointer plus 0, 1 or 2 strides, so three rows share a pointer. There are not enough registers
// for a pointer to each of 12 rows.
inline constexpr Index kRowsPerPointer = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3 ? 3 : 1;

// Packed rows of A need one address instead of kRows. In WebAssembly each address takes extra instructions, so packing
// pays when many panels share the rows. On other targets it costs more than it gains, unless the rows of a tile share
// cache sets.
inline constexpr Index kLeastPackedPanels = HWY_ARCH_WASM ? 64 : 2;

/// Returns true when rows that are `stride` floats apart fall into the same sets of the first-level cache. A set holds
/// 8 lines on most processors, fewer than a tile has rows.
HWY_INLINE bool Clashes(Index stride) { return kRows > 8 && stride % 1024 == 0; }

// Half a panel is computed alone when the other half is masked or does not exist, provided that the half has enough
// sums to keep the multipliers busy.
inline constexpr bool kHalvesPanels = kRows > 8;

// WebAssembly has no masked loads and stores. A tile that reaches beyond C is computed in other memory and copied.
inline constexpr bool kMasks = !HWY_ARCH_WASM;

inline constexpr bool kFetches = !HWY_ARCH_WASM;  // WebAssembly has no prefetch instruction

HWY_INLINE Index PanelWidth() { return kVecs * LaneCount(); }

/// Converts `count` numbers, a multiple of the vector length, to fp32. The conversion is exact.
template <class T>
HWY_INLINE void Expand(const T* from, Index count, float* HWY_RESTRICT to) {
  const Reader<T> read;
  for (Index i = 0; i < count; i += LaneCount()) hn::StoreU(read(from + i), D(), to + i);
}

/// The address of rows [p, p + depth) of a panel of B as fp32: in B itself, or expanded in `scratch`.
HWY_INLINE const float* PanelBlock(const GemmArgs& g, Index panel, Index p, Index depth, float* HWY_RESTRICT scratch) {
  const Index at = panel * g.b_panel + p * g.b_row;
  if (g.b_type == DType::kF32) return static_cast<const float*>(g.b) + at;
  if (g.b_type == DType::kF16) {
    Expand(static_cast<const hwy::float16_t*>(g.b) + at, depth * g.b_row, scratch);
  } else {
    Expand(static_cast<const hwy::bfloat16_t*>(g.b) + at, depth * g.b_row, scratch);
  }
  return scratch;
}

/// The memory to prefetch while a tile is computed; the address moves by `step` bytes at each step of the depth.
struct Fetch {
  const char* at;
  std::ptrdiff_t step;
};

/// Computes one tile: kM rows of A times a panel of B, or its first kN vectors, for `depth` steps. With `first` the
/// sums start from the bias or zero, otherwise from C. Packed rows of A hold kM elements for each step.
template <Index kM, Index kN = kVecs, bool kPacked = false>
HWY_INLINE void Tile(const GemmArgs& g, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const float* bias,
                     float* HWY_RESTRICT c, Index columns, Index depth, bool first, Fetch fetch) {
  const D d;
  const Index lanes = LaneCount();
  // Loops over the sums need explicit unrolling, or GCC keeps the sums in memory outside the loop over the depth.
  V sum[kM][kN];
  HWY_UNROLL(2)
  for (Index j = 0; j < kN; ++j) {
    const Index count = kMasks ? std::clamp<Index>(columns - j * lanes, 0, lanes) : lanes;
    const V start = first && bias ? hn::LoadU(d, bias + j * lanes) : hn::Zero(d);
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) sum[i][j] = first ? start : LoadSome(c + i * g.ldc + j * lanes, count);
  }
  // Steps are as wide as pointers. In wasm32, an address from 64-bit indices takes four instructions and costs a fifth
  // of the speed. Unrolling the loop over the depth costs even more, because the registers are full.
  constexpr Index kShare = kPacked ? kM : kRowsPerPointer;
  const float* rows[(kM + kShare - 1) / kShare];
  for (Index i = 0; i < kM; i += kShare) rows[i / kShare] = a + i * g.lda;
  const auto steps = static_cast<std::ptrdiff_t>(depth), b_step = static_cast<std::ptrdiff_t>(g.b_row);
  const auto lda = static_cast<std::ptrdiff_t>(g.lda);
  for (std::ptrdiff_t p = 0; p < steps; ++p) {
    V bv[kN];
    HWY_UNROLL(2)
    for (Index j = 0; j < kN; ++j) bv[j] = hn::LoadU(d, b + j * lanes);
    b += b_step;
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) {
      const V av = hn::Set(d, kPacked ? a[i] : rows[i / kShare][i % kShare * lda + p]);
      HWY_UNROLL(2)
      for (Index j = 0; j < kN; ++j) sum[i][j] = Fma(av, bv[j], sum[i][j]);
    }
    if constexpr (kPacked) a += kM;
    if constexpr (kFetches) {
      // Prefetches each cache line of a row of B. With one row of A, B is used as fast as it arrives.
      for (std::size_t line = 0; line < kVecs * hn::MaxLanes(d) * sizeof(float); line += 64)
        __builtin_prefetch(fetch.at + line);
      fetch.at += fetch.step;
    }
  }
  HWY_UNROLL(2)
  for (Index j = 0; j < kN; ++j) {
    const Index count = kMasks ? std::clamp<Index>(columns - j * lanes, 0, lanes) : lanes;
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) StoreSome(sum[i][j], c + i * g.ldc + j * lanes, count);
  }
}

/// Computes the last rows, fewer than kRows, with the tile of exactly that height.
template <Index kM, Index kN>
void LastRows(Index rows, const GemmArgs& g, const float* a, const float* b, const float* bias, float* c, Index columns,
              Index depth, bool first, Fetch fetch) {
  if constexpr (kM > 0) {
    if (rows == kM) return Tile<kM, kN>(g, a, b, bias, c, columns, depth, first, fetch);
    LastRows<kM - 1, kN>(rows, g, a, b, bias, c, columns, depth, first, fetch);
  }
}

/// Computes a tile of `rows` rows (kRows, or fewer for the last ones) and kN vectors of the panel.
template <Index kN>
HWY_INLINE void TileOfVectors(const GemmArgs& g, Index rows, const float* a, const float* packed, const float* b,
                              const float* bias, float* c, Index columns, Index depth, bool first, Fetch fetch) {
  if (rows < kRows) return LastRows<kRows - 1, kN>(rows, g, a, b, bias, c, columns, depth, first, fetch);
  if (packed) return Tile<kRows, kN, true>(g, packed, b, bias, c, columns, depth, first, fetch);
  Tile<kRows, kN>(g, a, b, bias, c, columns, depth, first, fetch);
}

/// Computes a tile where C has fewer columns than the panel: in other memory, from which the columns are copied.
void TileBeside(const GemmArgs& g, Index rows, const float* a, const float* packed, const float* b, const float* bias,
                float* c, Index columns, Index depth, bool first, Fetch fetch) {
  float beside[kRows * kVecs * hn::MaxLanes(D())];
  GemmArgs whole = g;
  whole.ldc = PanelWidth();
  rows = HWY_MIN(rows, kRows);
  for (Index i = 0; i < rows && !first; ++i) std::copy_n(c + i * g.ldc, columns, beside + i * whole.ldc);
  TileOfVectors<kVecs>(whole, rows, a, packed, b, bias, beside, whole.ldc, depth, first, fetch);
  for (Index i = 0; i < rows; ++i) std::copy_n(beside + i * whole.ldc, columns, c + i * g.ldc);
}

/// Computes rows [m, end) of C, at most kRows, for `panel`. `b` points to rows [p, p + depth) of B, and `packed` to the
/// packed rows of A, or it is null.
HWY_INLINE void TileOf(const GemmArgs& g, Index m, Index end, Index panel, const float* b, const float* packed, Index p,
                       Index depth, Fetch fetch) {
  const Index width = PanelWidth(), n = panel * width;
  if (g.columns && (n >= g.columns[m / kRows].end || n + width <= g.columns[m / kRows].begin)) return;
  const KeyRange deep = g.depths ? g.depths[m / kRows] : KeyRange{0, g.k};
  const Index from = HWY_MAX(p, deep.begin), to = HWY_MIN(p + depth, deep.end);
  const bool first = !g.accumulate && (from == deep.begin || p == 0);
  if (from >= to && !(first && p == 0)) return;
  const float* bias = g.bias ? g.bias + n : nullptr;
  const float* a = g.a + m * g.lda + from;
  float* c = g.c + m * g.ldc + n;
  const Index columns = HWY_MIN(width, g.n - n), steps = HWY_MAX(to - from, Index{0});
  const Index needed = g.columns ? HWY_MIN(columns, g.columns[m / kRows].end - n) : columns;
  b += (from - p) * g.b_row;
  if (packed) packed += (from - p) * kRows;
  if (!kMasks && columns < width) return TileBeside(g, end - m, a, packed, b, bias, c, columns, steps, first, fetch);
  if (kHalvesPanels && needed <= LaneCount())
    return TileOfVectors<1>(g, end - m, a, packed, b, bias, c, needed, steps, first, fetch);
  TileOfVectors<kVecs>(g, end - m, a, packed, b, bias, c, columns, steps, first, fetch);
}

/// The part of the next panel that the tile `row` rows below the first one prefetches. Without it, weights from the
/// third-level cache would delay the first tiles of that panel.
HWY_INLINE Fetch PartOfNextPanel(const GemmArgs& g, Index panel, Index p, Index depth, Index row, Index rows) {
  const Index size = g.b_type == DType::kF32 ? 4 : 2, bytes = g.b_row * size;
  const char* next = static_cast<const char*>(g.b) + (panel * g.b_panel + p * g.b_row) * size;
  rows = HWY_MAX(rows, kRows);
  const Index step = (bytes * kRows + rows - 1) / rows;
  return {next + row / kRows * step * depth, static_cast<std::ptrdiff_t>(step)};
}

/// to[p · to_step + j] = from[j · stride + p] for 4 rows j and columns p of [0, width).
HEADLENS_INLINE_BUT_WASM void TransposeFour(const float* from, Index stride, Index width, float* HWY_RESTRICT to,
                                            Index to_step) {
  Index p = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  for (; p + 4 <= width; p += 4, to += 4 * to_step) {
    const auto r0 = hn::LoadU(d, from + p), r1 = hn::LoadU(d, from + stride + p);
    const auto r2 = hn::LoadU(d, from + 2 * stride + p), r3 = hn::LoadU(d, from + 3 * stride + p);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_step);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * to_step);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * to_step);
  }
#endif
  for (; p < width; ++p, to += to_step)
    for (Index j = 0; j < 4; ++j) to[j] = from[j * stride + p];
}

/// Packs whole tiles of A's rows [first, end), `depth` elements of each row, for Tile<kRows, true>.
void PackTiles(const GemmArgs& g, Index first, Index end, Index p, Index depth, float* HWY_RESTRICT to) {
  for (Index m = first; m + kRows <= end; m += kRows, to += kRows * depth) {
    const float* from = g.a + m * g.lda + p;
    Index i = 0;
    for (; i + 4 <= kRows; i += 4) TransposeFour(from + i * g.lda, g.lda, depth, to + i, kRows);
    for (; i < kRows; ++i)
      for (Index q = 0; q < depth; ++q) to[q * kRows + i] = from[i * g.lda + q];
  }
}

/// Computes rows [first, end) of C. `tiles` has room to pack these rows of A for one pass, or is null.
void GemmRows(const GemmArgs& g, Index first, Index end, float* HWY_RESTRICT scratch, float* HWY_RESTRICT tiles) {
  const Index panels = (g.n + PanelWidth() - 1) / PanelWidth();
  const Index most = DepthFor(g.m);
  for (Index p = 0; p == 0 || p < g.k; p += most) {  // runs once for k = 0, where C is the bias
    const Index depth = HWY_MIN(most, g.k - p);
    if (tiles) PackTiles(g, first, end, p, depth, tiles);
    for (Index panel = 0; panel < panels; ++panel) {
      const float* b = PanelBlock(g, panel, p, depth, scratch);
      for (Index m = first; m < end; m += kRows) {
        const bool fetches = g.b_is_far && panel + 1 < panels;
        const Fetch fetch = fetches ? PartOfNextPanel(g, panel + 1, p, depth, m - first, end - first)
                                    : Fetch{reinterpret_cast<const char*>(b), 0};
        TileOf(g, m, end, panel, b, tiles ? tiles + (m - first) * depth : nullptr, p, depth, fetch);
      }
    }
  }
}

/// Computes all kM rows of C for one panel of B, which it reads from its first row to its last, in the order of memory.
template <Index kM, class T>
HWY_INLINE void RowsTimesPanel(const GemmArgs& g, Index n, const T* b) {
  const D d;
  const Reader<T> read;
  const Index lanes = LaneCount();
  V sum[kM][kVecs];
  HWY_UNROLL(2)
  for (Index j = 0; j < kVecs; ++j) {
    const V start = g.bias ? hn::LoadU(d, g.bias + n + j * lanes) : hn::Zero(d);
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) sum[i][j] = start;
  }
  for (const float *a = g.a, *const end = a + g.k; a != end; ++a, b += g.b_row) {
    V bv[kVecs];
    HWY_UNROLL(2)
    for (Index j = 0; j < kVecs; ++j) bv[j] = read(b + j * lanes);
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) {
      const V x = hn::Set(d, a[i * g.lda]);
      HWY_UNROLL(2)
      for (Index j = 0; j < kVecs; ++j) sum[i][j] = Fma(x, bv[j], sum[i][j]);
    }
  }
  HWY_UNROLL(2)
  for (Index j = 0; j < kVecs; ++j) {
    const Index count = std::clamp<Index>(g.n - n - j * lanes, 0, lanes);
    HWY_UNROLL(16)
    for (Index i = 0; i < kM; ++i) StoreSome(sum[i][j], g.c + i * g.ldc + n + j * lanes, count);
  }
}

/// Computes all rows of C, at most kM, panel by panel. 16-bit floats of B are expanded in registers.
template <Index kM, class T>
void RowsTimesPanels(const GemmArgs& g) {
  if constexpr (kM > 1) {
    if (g.m < kM) return RowsTimesPanels<kM - 1, T>(g);
  }
  const T* panel = static_cast<const T*>(g.b);
  for (Index n = 0; n < g.n; n += PanelWidth(), panel += g.b_panel) RowsTimesPanel<kM>(g, n, panel);
}

void Gemm(const GemmArgs& g) {
  HWY_ALIGN float expanded[kMostDepth * kVecs * hn::MaxLanes(D())];
  if (g.m <= 0) return;
  if (g.b_is_far && g.m <= (g.b_type == DType::kF32 ? 1 : kDirectRows)) {
    if (g.b_type == DType::kF32) return RowsTimesPanels<1, float>(g);
    if (g.b_type == DType::kF16) return RowsTimesPanels<kDirectRows, hwy::float16_t>(g);
    return RowsTimesPanels<kDirectRows, hwy::bfloat16_t>(g);
  }
  // All passes have about the same height, a whole number of tiles.
  const Index passes = (g.m + kPassRows - 1) / kPassRows, tiles = (g.m + kRows - 1) / kRows;
  const Index rows = (tiles + passes - 1) / passes * kRows;
  const bool packs = (HWY_ARCH_WASM || Clashes(g.lda)) && g.m >= kRows && g.n >= kLeastPackedPanels * PanelWidth();
  const auto packed = packs ? Buffer<float>(HWY_MIN(rows, g.m) * HWY_MIN(DepthFor(g.m), g.k)) : Buffer<float>();
  for (Index m = 0; m < g.m; m += rows) GemmRows(g, m, HWY_MIN(m + rows, g.m), expanded, packed.data());
}

/// Prefetches `count` rows of keys or values from `row` on. They lie a layer's width apart, too far for the processor
/// to prefetch them by itself.
template <class T>
HWY_INLINE void FetchRows(const T* src, Index stride, Index row, Index count, Index rows, Index width) {
  if constexpr (!kFetches) return;
  constexpr Index kLine = 64 / sizeof(T);
  for (; count > 0 && row < rows; ++row, --count)
    for (Index j = 0; j < width; j += kLine) __builtin_prefetch(src + row * stride + j);
}

/// The same for 16-bit floats, which are converted a few columns at a time.
template <class T>
HWY_INLINE void TransposeFour(const T* from, Index stride, Index width, float* HWY_RESTRICT to, Index to_step) {
  constexpr Index kMost = 64;
  const Reader<T> read;
  HWY_ALIGN float four[4 * kMost];
  for (Index p = 0; p < width; p += kMost) {
    const Index count = HWY_MIN(width - p, kMost);
    for (Index j = 0; j < 4; ++j)
      for (Index i = 0; i < count; i += LaneCount())
        hn::StoreU(ReadSome(read, from + j * stride + p + i, HWY_MIN(count - i, LaneCount())), D(),
                   four + j * kMost + i);
    TransposeFour(four, kMost, count, to + p * to_step, to_step);
  }
}

void PackRows(const HeadRows& rows, float* HWY_RESTRICT panels) {
  const Index panel_width = PanelWidth(), stride = rows.stride, width = rows.width;
  OfType(rows, [&](const auto* src) {
    for (Index first = 0; first < rows.count; first += panel_width, panels += panel_width * width) {
      const Index columns = HWY_MIN(panel_width, rows.count - first);
      const auto* from = src + first * stride;
      Index j = 0;
      for (; j + 4 <= columns; j += 4) {
        FetchRows(src, stride, first + j + 8, 4, rows.count, width);
        TransposeFour(from + j * stride, stride, width, panels + j, panel_width);
      }
      for (; j < panel_width; ++j)
        for (Index p = 0; p < width; ++p)
          panels[p * panel_width + j] = j < columns ? hwy::ConvertScalarTo<float>(from[j * stride + p]) : 0.0f;
    }
  });
}

template <class T>
void PackColumnsOf(const T* src, Index stride, Index rows, Index width, float* HWY_RESTRICT panels) {
  const D d;
  const Reader<T> read;
  const Index panel_width = PanelWidth(), lanes = LaneCount();
  for (Index first = 0; first < width; first += panel_width)
    for (Index p = 0; p < rows; ++p) {
      FetchRows(src + first, stride, p + 12, 1, rows, HWY_MIN(panel_width, width - first));
      for (Index j = first; j < first + panel_width; j += lanes, panels += lanes)
        hn::StoreU(ReadSome(read, src + p * stride + j, std::clamp<Index>(width - j, 0, lanes)), d, panels);
    }
}

void PackColumns(const HeadRows& rows, float* HWY_RESTRICT panels) {
  OfType(rows, [&](const auto* src) { PackColumnsOf(src, rows.stride, rows.count, rows.width, panels); });
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#endif  // HEADLENS_KERNELS_GEMM_INL_H_
