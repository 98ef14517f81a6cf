// SPDX-License-Identifier: Apache-2.0
/// The keys and values of the tokens so far, for step-by-step decoding.
#ifndef HEADLENS_CACHE_H_
#define HEADLENS_CACHE_H_

#include "headlens/attention.h"
#include "headlens/backend.h"

namespace headlens {

/// Attention over the whole cache after each Append gives the numbers of one causal pass over everything, once Place
/// has told the problem where its queries and keys stand. Grows as needed, in place.
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
  /// `window` is how many of the latest tokens are kept for those to come (a rolling window; use Mask::window_left =
  /// window − 1 with it); 0 keeps all. They are kept where `backend`, which must outlive the cache, computes, and
  /// with another than the default are for its attention alone. In BF16 they are rounded to the nearest as they come,
  /// take half the memory, and stay on the host. Throws kValue when the window is negative, kDtype for another `dtype`
  /// than F32 and BF16.
  explicit KvCache(Index window = 0, const Backend& backend = SimdBackend(), DType dtype = DType::kF32);

  /// Appends k [B, G, n, d] and v [B, G, n, dv], by copy; first drops what lies further back than `window` from the
  /// first new token. So views taken before are no longer valid, and the queries of these very n tokens still find all
  /// that their windows reach. Throws kShape when sizes differ from those before.
  void Append(View<const float, 4> k, View<const float, 4> v);

  /// How many of those kept the next Append leaves.
  Index reachable() const { return window_ > 0 && kept_ > window_ - 1 ? window_ - 1 : kept_; }

  /// Lets the queries of `problem` attend to all that is kept: sets its k, v, both offsets (as its causal_alignment
  /// needs them) and, where the cache rolls, its window, which may be narrower already. The first query stands at
  /// position `first_query`; without one the queries are the latest tokens. The problem is valid until the next Append.
  /// Throws kShape when nothing has been appended yet, or when there are more queries than tokens and `first_query` is
  /// absent.
  void Place(AttentionProblem& problem, std::optional<Index> first_query = {}) const;

  /// All that are kept, oldest first: [B, G, kept, d] and [B, G, kept, dv]. Absent before the first Append.
  KeyValueView k() const { return Kept(k_, k_width_); }
  KeyValueView v() const { return Kept(v_, v_width_); }

  /// Tokens seen so far, and the position of the oldest that is kept.
  Index length() const { return first_ + kept_; }
  Index first() const { return first_; }
  Index window() const { return window_; }
  DType dtype() const { return dtype_; }

  /// Takes back the latest tokens, so that `length` are left; what they pushed out of the window stays out. Throws
  /// kValue when those are not there.
  void Truncate(Index length);

  void Reset();

 private:
  KeyValueView Kept(const Tensor& store, Index width) const;
  void Put(View<const float, 4> rows, View<float, 4> to) const;
  void Reserve(Index tokens);

  Index window_;
  const Backend* backend_;
  DType dtype_;
  Index batch_ = 0, heads_ = 0, k_width_ = 0, v_width_ = 0;
  Index first_ = 0, kept_ = 0;
  Index begin_ = 0, capacity_ = 0;  // the kept ones are [begin, begin + kept) of `capacity`
  Tensor k_, v_;                    // [B, G, capacity, width]; two BF16 to a float
};

}  // namespace headlens

#endif  // HEADLENS_CACHE_H_
