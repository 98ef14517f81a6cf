// SPDX-License-Identifier: Apache-2.0
/// A cache of the keys and values of earlier tokens, for decoding step by step.
#ifndef HEADLENS_CACHE_H_
#define HEADLENS_CACHE_H_

#include "headlens/attention.h"
#include "headlens/backend.h"

namespace headlens {

/// Keys and values of all tokens so far. When each step appends its tokens and calls Place, which sets the positions of
/// the problem's queries and keys, attention gives the same numbers as one causal pass over the whole text. The cache
/// grows as needed.
///
///   KvCache cache;
///   for (each step) {
///     cache.Append(k, v);  // of the new tokens
///     AttentionProblem problem;
///     problem.q = q;  // of the new tokens, too
///     problem.mask.causal = true;
///     cache.Place(problem);
///     backend.Attention(problem, results);
///   }
class KvCache {
 public:
  /// `window` is the number of latest tokens that later tokens may look at (a rolling window; use it with
  /// Mask::window_left = window − 1); 0 keeps all tokens. Keys and values lie in the memory of `backend`, which must
  /// outlive the cache; only that backend can use them when its memory is not the host's. With BF16 they are rounded to
  /// nearest, take half the memory, and stay on the host. Throws kValue when the window is negative, and kDtype when
  /// `dtype` is neither F32 nor BF16.
  explicit KvCache(Index window = 0, const Backend& backend = SimdBackend(), DType dtype = DType::kF32);

  /// Appends copies of k [B, G, n, d] and v [B, G, n, dv]. First drops the tokens that are out of the window of the
  /// first new token, so the n new queries still find every key in their windows. Views taken earlier become invalid.
  /// Throws kShape when sizes differ from those of earlier calls.
  void Append(DeviceView<const float, 4> k, DeviceView<const float, 4> v);

  /// The number of kept tokens that will remain at the next Append.
  Index reachable() const { return window_ > 0 && kept_ > window_ - 1 ? window_ - 1 : kept_; }

  /// Lets the queries of `problem` attend to all kept tokens: sets its k, v and both offsets, as its causal_alignment
  /// needs them, and limits its window when the cache has one. The first query is at position `first_query`; without
  /// it, the queries are the latest tokens. The problem is valid until the next Append. Throws kShape when the cache is
  /// empty, or when there are more queries than tokens and no `first_query`.
  void Place(AttentionProblem& problem, std::optional<Index> first_query = {}) const;

  /// Keys and values of all kept tokens, the oldest first: [B, G, kept, d] and [B, G, kept, dv]. Empty before the first
  /// Append.
  KeyValueView k() const { return Kept(k_, k_width_); }
  KeyValueView v() const { return Kept(v_, v_width_); }

  /// The number of tokens appended so far, and the position of the oldest that is kept.
  Index length() const { return first_ + kept_; }
  Index first() const { return first_; }
  Index window() const { return window_; }
  DType dtype() const { return dtype_; }

  /// Removes the latest tokens, so that `length` are left. Tokens that have left the window do not come back. Throws
  /// kValue unless first() ≤ `length` ≤ length().
  void Truncate(Index length);

  void Reset();

 private:
  KeyValueView Kept(const DeviceTensor& store, Index width) const;
  void Put(DeviceView<const float, 4> rows, DeviceView<float, 4> to) const;
  void Reserve(Index tokens);

  Index window_;
  const Backend* backend_;
  DType dtype_;
  Index batch_ = 0, heads_ = 0, k_width_ = 0, v_width_ = 0;
  Index first_ = 0, kept_ = 0;
  Index begin_ = 0, capacity_ = 0;  // the kept ones are [begin, begin + kept) of `capacity`
  DeviceTensor k_, v_;              // [B, G, capacity, width]; two BF16 to a float, on the host
};

}  // namespace headlens

#endif  // HEADLENS_CACHE_H_
