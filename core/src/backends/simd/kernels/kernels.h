// SPDX-License-Identifier: Apache-2.0
/// The vector kernels of the SIMD backend, compiled once per instruction set and reached through one table.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_

#include "attention/key_range.h"
#include "headlens/tensor.h"

namespace headlens::simd {

/// C[m, n] = A[m, k] · B[k, n] (+ bias[n]). B comes in panels of `panel_width` columns: element (p, j) of panel q is
/// b[q · b_panel + p · b_row + j]. All columns of the last panel must be readable. A B of 16-bit floats is expanded
/// as it is used, block by block or, for few rows, in registers; its panels are dense (b_row is the panel's width).
struct GemmArgs {
  const float* a;
  Index lda;  // between rows; elements of a row are dense
  const void* b;
  Index b_row, b_panel;
  const float* bias;  // n values, readable up to a whole panel; or null
  float* c;
  Index ldc;
  Index m, n, k;
  DType b_type = DType::kF32;  // or kF16, kBF16
  bool accumulate = false;     // C += A · B; no bias then
  bool b_is_far = false;       // not in the second-level cache yet: weights
  /// For each tile of `tile_rows` rows: the columns that its rows need (panels outside are left as they are, others
  /// may be behind them), and the part of the depth where its rows of A are not zero (nothing else of them is read).
  /// Null: all.
  const KeyRange* columns = nullptr;
  const KeyRange* depths = nullptr;
};

/// `count` rows of `width` keys' or values' elements, F32 or BF16, that are dense; `stride` elements from row to row.
struct HeadRows {
  DType type;
  const void* data;
  Index stride, count, width;
};

/// Sums over max((x − max) · scale − tau, 0): how many are positive, they themselves, their squares.
struct HingeSums {
  float count, sum, squares;
};

/// Everything is one row (dense floats) unless said otherwise; lengths may be anything, addresses need no alignment.
struct Kernels {
  const char* target;
  Index panel_width, tile_rows;

  void (*gemm)(const GemmArgs& args);
  /// F32 panels for gemm: the rows become the columns of B, or its rows. What the last panel has too many is zero.
  void (*pack_rows)(const HeadRows& rows, float* panels);
  void (*pack_columns)(const HeadRows& rows, float* panels);
  /// Without panels, for one row: y[s] = x · row s; y[j] = Σ x[s] · element j of row s, or what is there plus that.
  void (*dots)(const float* x, const HeadRows& rows, float* y);
  void (*blend)(const float* x, const HeadRows& rows, bool accumulate, float* y);

  // Rows of scores and weights.
  void (*scale)(float* x, Index n, float factor);
  void (*softcap)(float* x, Index n, float cap);               // cap · tanh(x / cap)
  void (*add_bias)(float* x, Index n, const float* bias);      // −∞ in the bias wins over anything in x, NaN included
  void (*mask)(float* x, Index n, const std::uint8_t* marks);  // −∞ where the mark is not 0
  float (*max)(const float* x, Index n);                       // ignores NaN; −∞ for an empty row
  /// x ← exp((x − max) · factor), max ≥ x, factor > 0; the sum. NaN stays NaN.
  float (*exp_sum)(float* x, Index n, float max, float factor);
  /// to ← cells in `filled`, else 0; past the caches, which would fetch every line of `to` first. Null where there is
  /// no such instruction. Other threads see it in order after flush_streams.
  void (*stream_row)(const float* cells, KeyRange filled, Index n, float* to);
  void (*flush_streams)();
  void (*add_scaled)(float* x, Index n, const float* y, float factor);
  bool (*all_finite)(const float* x, Index n);

  bool (*any_nan)(const float* x, Index n);
  Index (*first_max)(const float* x, Index n);  // the first of the largest; no NaN, n > 0
  /// What is smaller than the k-th largest becomes −∞. No NaN; k ≥ 1.
  void (*keep_largest)(float* x, Index n, Index k);

  HingeSums (*hinge_sums)(const float* x, Index n, float max, float scale, float tau);
  void (*hinge)(float* x, Index n, float max, float scale, float tau);  // x ← max((x − max) · scale − tau, 0)
  void (*sigmoid)(float* x, Index n, float bias);                       // x ← 1 / (1 + exp(−x − bias))

  /// Dropout: x ← x · factor where number `first` + i of the seed (philox.h) is above `highest`, else 0.
  void (*drop)(float* x, Index n, float factor, std::uint64_t seed, std::uint64_t first, std::uint32_t highest);

  // Rows of marks, 0 or 1; each kernel adds its own to those that are there.
  void (*mark_bytes)(const std::uint8_t* x, Index n, std::uint8_t value, bool when_equal, std::uint8_t* marks);
  void (*mark_ints)(const std::int32_t* x, Index n, std::int32_t value, bool when_equal, std::uint8_t* marks);
  void (*mark_floats)(const float* x, Index n, float value, bool when_equal, std::uint8_t* marks);
  /// All but first, first + step, …; first < step ≤ 2²⁰.
  void (*mark_off_step)(Index n, Index first, Index step, std::uint8_t* marks);
  void (*mark_unless)(const std::uint8_t* x, const std::uint8_t* except, Index n, std::uint8_t* marks);

  // Layers.
  void (*rms_norm)(const float* x, Index n, const float* weight, float eps, float* y);
  void (*layer_norm)(const float* x, Index n, const float* weight, const float* bias_or_null, float eps, float* y);
  void (*rotate)(float* x, Index half, const float* cosine, const float* sine);              // pairs i, i + half
  void (*rotate_interleaved)(float* x, Index half, const float* cosine, const float* sine);  // pairs 2i, 2i + 1
  void (*swiglu)(float* gate, Index n, const float* up);
  void (*gelu_erf)(float* x, Index n);
  void (*gelu_tanh)(float* x, Index n);
  void (*relu)(float* x, Index n);
  void (*add)(float* x, Index n, const float* y);
};

inline Index RoundUp(Index n, Index step) { return (n + step - 1) / step * step; }

/// The kernels for the best instruction set of this machine.
const Kernels& BestKernels();

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_
