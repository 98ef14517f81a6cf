// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/online_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlens::simd {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

}  // namespace

OnlineRows::OnlineRows(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels)
    : p_(problem),
      r_(results),
      kernels_(kernels),
      scorer_(problem, results, kernels),
      block_keys_(BlockKeys(problem.q.shape[3], kernels.tile_rows)),
      stride_(ScoreStride(std::min(block_keys_, problem.k.shape[2]))),
      cells_(BlockRows(problem.q.shape[3]) * stride_) {}

bool OnlineRows::Run(const RowBlock& block, const PackedHead& head) {
  const auto rows = static_cast<std::size_t>(block.count);
  max_.assign(rows, kMasked);
  sum_.assign(rows, 0.0f);
  visible_.resize(rows);
  KeyRange all;
  for (std::size_t i = 0; i < rows; ++i) {
    const RowIndex at = block.at(static_cast<Index>(i));
    visible_[i] = scorer_.Range(at.b, at.t);
    all = Union(all, visible_[i]);
  }
  // At least one block is computed, so that outputs become 0 when no key is visible.
  const Index first = all.begin / block_keys_ * block_keys_;
  for (Index s = first; s == first || s < all.end; s += block_keys_)
    if (!RunKeys(block, head, {s, std::min(s + block_keys_, p_.k.shape[2])}, s == first)) return false;
  bool good = true;
  for (Index i = 0; i < block.count; ++i) good &= Finish(block, i);
  return good;
}

/// Computes one block of keys, which begins with a panel: scores, their exponentials, and the weighted sum of values.
/// The first block sets the output, and the others add to it.
bool OnlineRows::RunKeys(const RowBlock& block, const PackedHead& head, KeyRange keys, bool first) {
  const Index count = keys.end - keys.begin, width = p_.q.shape[3];
  const Index rows = kernels_.tile_rows, panel = kernels_.panel_width;
  tiles_.assign(static_cast<std::size_t>((block.count + rows - 1) / rows), KeyRange{});
  for (Index i = 0; i < block.count; ++i) {
    const KeyRange visible = Intersection(visible_[static_cast<std::size_t>(i)], keys);
    KeyRange& tile = tiles_[static_cast<std::size_t>(i / rows)];
    tile = Union(tile, {visible.begin - keys.begin, visible.end - keys.begin});
  }
  kernels_.gemm({.a = block.begin(p_.q),
                 .lda = block.stride(p_.q),
                 .b = head.k + keys.begin * width,
                 .b_row = panel,
                 .b_panel = panel * width,
                 .bias = nullptr,
                 .c = cells_.data(),
                 .ldc = stride_,
                 .m = block.count,
                 .n = count,
                 .k = width,
                 .columns = tiles_.data()});
  for (Index i = 0; i < block.count; ++i)
    if (!RunRow(block, i, keys, tiles_[static_cast<std::size_t>(i / rows)])) return false;
  kernels_.gemm({.a = cells_.data(),
                 .lda = stride_,
                 .b = head.v + keys.begin * panel,
                 .b_row = panel,
                 .b_panel = panel * p_.k.shape[2],
                 .bias = nullptr,
                 .c = block.begin(r_.output),
                 .ldc = block.stride(r_.output),
                 .m = block.count,
                 .n = p_.v.shape[3],
                 .k = count,
                 .accumulate = !first,
                 .depths = tiles_.data()});
  return true;
}

/// Turns the row's scores for these keys into exponentials, and rescales the output so far to the new maximum. The
/// remaining cells of the row's tile become 0.
bool OnlineRows::RunRow(const RowBlock& block, Index i, KeyRange keys, KeyRange tile) {
  const KeyRange visible = Intersection(visible_[static_cast<std::size_t>(i)], keys);
  float* cells = cells_.data() + i * stride_ - keys.begin;
  const auto clear = [&](Index from, Index to) {
    if (from < to) std::fill(cells + from, cells + to, 0.0f);
  };
  tile = {tile.begin + keys.begin, tile.end + keys.begin};
  if (visible.begin == visible.end) {
    clear(tile.begin, tile.end);
    return true;
  }
  const Row row{block.at(i), visible, visible, cells};
  scorer_.Score(row);
  clear(tile.begin, visible.begin);
  clear(visible.end, tile.end);
  float& max = max_[static_cast<std::size_t>(i)];
  float& sum = sum_[static_cast<std::size_t>(i)];
  const float factor = scorer_.factor(), higher = std::max(max, kernels_.max(row.begin(), row.count()));
  if (higher == kMasked) {
    clear(visible.begin, visible.end);
    return true;
  }
  if (!std::isfinite(higher * factor)) return false;
  if (higher > max && max != kMasked) {
    const float shrink = std::exp((max - higher) * factor);
    sum *= shrink;
    kernels_.scale(block.begin(r_.output) + i * block.stride(r_.output), p_.v.shape[3], shrink);
  }
  max = higher;
  sum += kernels_.exp_sum(row.begin(), row.count(), max, factor);
  return true;
}

/// Scales the row's output and stores ln Σ exp with the sink, when it is wanted.
bool OnlineRows::Finish(const RowBlock& block, Index i) {
  const RowIndex at = block.at(i);
  const KeyRange visible = visible_[static_cast<std::size_t>(i)];
  double max{max_[static_cast<std::size_t>(i)] * scorer_.factor()}, sum{sum_[static_cast<std::size_t>(i)]}, part = 1.0;
  if (max == double{kMasked}) {
    if (r_.lse) r_.lse(at.b, at.h, at.t) = kMasked;
    // Otherwise every key is masked one by one, a score is infinite, or the output must not be 0.
    return visible.begin >= visible.end && p_.fully_masked == FullyMasked::kZero;
  }
  if (p_.normalizer.sinks) {
    const double sink{p_.normalizer.sinks(at.h)}, top = std::max(max, sink);
    part = std::exp(max - top);
    sum = sum * part + std::exp(sink - top);
    max = top;
  }
  float* out = block.begin(r_.output) + i * block.stride(r_.output);
  const float head_factor = p_.head_mask ? p_.head_mask(at.b, at.h) : 1.0f;
  kernels_.scale(out, p_.v.shape[3], static_cast<float>(part / sum) * head_factor);
  if (r_.lse) r_.lse(at.b, at.h, at.t) = static_cast<float>(max + std::log(sum));
  return !std::isnan(sum) && kernels_.all_finite(out, p_.v.shape[3]);
}

}  // namespace headlens::simd
