// SPDX-License-Identifier: Apache-2.0
// The structures that the host hands to the kernels of a GPU, and the numbers of the choices in them. C++ and OpenCL C
// both read this file, so that the two sides cannot disagree; it keeps to what the languages have in common.
#ifndef HEADLENS_NATIVE_GPU_KERNEL_ARGUMENTS_H_
#define HEADLENS_NATIVE_GPU_KERNEL_ARGUMENTS_H_

#ifndef __cplusplus  // OpenCL C
#define int64_t long
#define uint64_t ulong
#define int32_t int
#define uint32_t uint
#else
#include <cstdint>

namespace headlens::gpu {
#endif

// The place of rows of heads in a buffer. `base` is the first element; the others say how many elements there are from
// one batch, group of heads, member of a group and row to the next.
typedef struct {
  int64_t base, batch, group, member, row;
} Place;

// The heads that a launch works on: its head z is member z % members of group first + z / members. Groups are counted
// through the batch, and every sequence has `groups` of them.
typedef struct {
  int64_t first, groups, members;
} Heads;

// The number of elements in a mask from one head, row and key to the next; 0 where all of them share one.
typedef struct {
  int64_t head, row, key;
} CellStrides;

// The ways in which the masked scores of a row become its weights.
enum {
  kNormalizeSoftmax,
  kNormalizeSparsemax,
  kNormalizeEntmax15,
  kNormalizeSigmoid,
  kNormalizeTopK,
  kNormalizeHard,
  kNormalizeRelu
};

// The weights of a row that may look at no key.
enum { kFullyMaskedZero, kFullyMaskedNan, kFullyMaskedUniform };

// Attention without cells (online.cl) pads each row of its tiles in local memory by kOnlinePadding floats, and keeps
// kOnlineTileBytes there beside the tiles.
enum { kOnlinePadding = 4, kOnlineTileBytes = 120 };

// Attention of few rows (few.cl) pads the shares of a score by kFewPadding floats, and keeps kFewBytes in local memory
// beside its arrays.
enum { kFewPadding = 4, kFewBytes = 192 };

// An attention problem, and the block of its rows that a launch computes.
typedef struct {
  int64_t keys, maskable;             // S, and S without the appended keys, which nothing masks
  int64_t queries;                    // T
  int64_t first, rows;                // the block's first query, and the number of its queries
  int64_t own_shift;                  // query t stands where key t + own_shift does
  int64_t window_left, window_right;  // -1 for as far as there is
  int64_t dilation, top_k;
  int64_t neighborhood_rows, neighborhood_columns;  // -1 for as far as there is
  int64_t grid_columns, first_patch;                // 0 without a neighborhood; the key of the grid's first patch
  Heads heads;
  Place q, k, v, output;          // rows of q and of the output count from the block's first query
  int64_t width, value_width;     // of a head, and of a value
  CellStrides boolean, additive;  // their rows count from the block's first query
  uint64_t seed;
  uint32_t highest_dropped;  // dropout keeps the cells that have drawn more
  int32_t drops, interleaved, boolean_keeps, causal, cap_after_bias, spreads, marks_hidden;  // 0 or 1
  int32_t hides_any, changes_scores;  // 0 or 1: there is a mask; scores are capped or biased
  int32_t fully_masked;               // a kFullyMasked…
  float scale, softcap, temperature, sigmoid_bias, keep_factor;
} Problem;

#ifdef __cplusplus
}  // namespace headlens::gpu
#endif

#endif  // HEADLENS_NATIVE_GPU_KERNEL_ARGUMENTS_H_
