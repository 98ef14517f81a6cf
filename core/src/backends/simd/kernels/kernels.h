// SPDX-License-Identifier: Apache-2.0
/// The vector kernels of the SIMD backend. They are compiled once for each instruction set and called through one
/// table.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_

#include "attention/key_range.h"
#include "headlens/tensor.h"

namespace headlens::simd {

/// The product C[m, n] = A[m, k] · B[k, n] (+ bias[n]). B comes in panels of `panel_width` columns: element (p, j) of
/// panel q is b[q · b_panel + p · b_row + j], and all columns of the last panel must be readable. A B of 16-bit floats
/// is expanded while it is used, block by block or, for few rows, in registers; its panels must be dense (b_row is the
/// panel's width).
struct GemmArgs {
  const float* a;
  Index lda;  // elements from row to row; each row is dense
  const void* b;
  Index b_row, b_panel;
  const float* bias;  // n values, readable to the end of the last panel; or null
  float* c;
  Index ldc;
  Index m, n, k;
  DType b_type = DType::kF32;  // or kF16, kBF16
  bool accumulate = false;     // C += A · B, without bias
  bool b_is_far = false;       // B is not in the second-level cache yet; true for weights
  /// For each tile of `tile_rows` rows: `columns` are the columns that its rows need, and panels outside of them may be
  /// left unchanged. `depths` is the part of the depth where its rows of A are not zero; the rest of A is not read.
  /// Null means everything.
  const KeyRange* columns = nullptr;
  const KeyRange* depths = nullptr;
};

/// `count` rows of keys or values with `width` elements each, in F32 or BF16. Rows are dense and lie `stride` elements
/// apart.
struct HeadRows {
  DType type;
  const void* data;
  Index stride, count, width;
};

/// Sums over h = max((x − max) · scale − tau, 0): the number of positive h, the sum of h, and the sum of their squares.
struct HingeSums {
  float count, sum, squares;
};

/// The kernels. They work on one row of dense floats unless stated otherwise, of any length and without alignment.
struct Kernels {
  const char* target;
  Index panel_width, tile_rows;

  void (*gemm)(const GemmArgs& args);
  /// Pack rows into F32 panels for gemm, as the columns of B or as its rows. The padding of the last panel is zero.
  void (*pack_rows)(const HeadRows& rows, float* panels);
  void (*pack_columns)(const HeadRows& rows, float* panels);
  /// Products of one row x without panels. `dots`: y[s] = x · row s. `blend`: y[j] = Σ x[s] · element j of row s, plus
  /// the previous y when it accumulates.
  void (*dots)(const float* x, const HeadRows& rows, float* y);
  void (*blend)(const float* x, const HeadRows& rows, bool accumulate, float* y);

  // Kernels for rows of scores and weights.
  void (*scale)(float* x, Index n, float factor);
  void (*softcap)(float* x, Index n, float cap);               // cap · tanh(x / cap)
  void (*add_bias)(float* x, Index n, const float* bias);      // −∞ in the bias always gives −∞, even where x is NaN
  void (*mask)(float* x, Index n, const std::uint8_t* marks);  // −∞ where the mark is not 0
  float (*max)(const float* x, Index n);                       // ignores NaN; −∞ for an empty row
  /// x ← exp((x − max) · factor) with max ≥ x and factor > 0. Returns the sum. NaN stays NaN.
  float (*exp_sum)(float* x, Index n, float max, float factor);
  /// Copies the cells of `filled` to `to` and sets the rest of it to 0, with stores that bypass the caches, which would
  /// otherwise first fetch every line of `to`. Other threads see the result after flush_streams. Null when the target
  /// has no such instruction.
  void (*stream_row)(const float* cells, KeyRange filled, Index n, float* to);
  void (*flush_streams)();
  void (*add_scaled)(float* x, Index n, const float* y, float factor);
  bool (*all_finite)(const float* x, Index n);

  bool (*any_nan)(const float* x, Index n);
  /// The index of the largest number, the first of equals. Needs n > 0 and no NaN.
  Index (*first_max)(const float* x, Index n);
  /// Sets numbers below the k-th largest to −∞. Needs k ≥ 1 and no NaN.
  void (*keep_largest)(float* x, Index n, Index k);

  HingeSums (*hinge_sums)(const float* x, Index n, float max, float scale, float tau);
  void (*hinge)(float* x, Index n, float max, float scale, float tau);  // x ← max((x − max) · scale − tau, 0)
  void (*sigmoid)(float* x, Index n, float bias);                       // x ← 1 / (1 + exp(−x − bias))

  /// Dropout: x[i] ← x[i] · factor when random number `first` + i of the seed (philox.h) is above `highest`, else 0.
  void (*drop)(float* x, Index n, float factor, std::uint64_t seed, std::uint64_t first, std::uint32_t highest);

  // Kernels for rows of marks, which are 0 or 1. Each kernel sets its marks and keeps the others.
  void (*mark_bytes)(const std::uint8_t* x, Index n, std::uint8_t value, bool when_equal, std::uint8_t* marks);
  void (*mark_ints)(const std::int32_t* x, Index n, std::int32_t value, bool when_equal, std::uint8_t* marks);
  void (*mark_floats)(const float* x, Index n, float value, bool when_equal, std::uint8_t* marks);
  /// Marks all keys but first, first + step, … Needs first < step ≤ 2²⁰.
  void (*mark_off_step)(Index n, Index first, Index step, std::uint8_t* marks);
  void (*mark_unless)(const std::uint8_t* x, const std::uint8_t* except, Index n, std::uint8_t* marks);

  // Kernels for layers.
  void (*rms_norm)(const float* x, Index n, const float* weight, float eps, float* y);
  void (*layer_norm)(const float* x, Index n, const float* weight, const float* bias_or_null, float eps, float* y);
  void (*rotate)(float* x, Index half, const float* cosine, const float* sine);              // pairs i, i + half
  void (*rotate_interleaved)(float* x, Index half, const float* cosine, const float* sine);  // pairs 2i, 2i + 1
  void (*silu)(float* x, Index n);
  void (*gelu_erf)(float* x, Index n);
  void (*gelu_tanh)(float* x, Index n);
  void (*relu)(float* x, Index n);
  void (*add)(float* x, Index n, const float* y);
  void (*multiply)(float* x, Index n, const float* y);
};

inline Index RoundUp(Index n, Index step) { return (n + step - 1) / step * step; }

/// The kernels for the best instruction set of this machine, or for that of UseSimdTarget.
const Kernels& BestKernels();

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_KERNELS_KERNELS_H_
