// SPDX-License-Identifier: Apache-2.0
/// Positions: added to embeddings, to scores, or turned into queries and keys.
#ifndef HEADLENS_POSITIONS_H_
#define HEADLENS_POSITIONS_H_

#include <optional>
#include <vector>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/tensor.h"

namespace headlens {

/// [length, width]: sin(position / 10000^(2i/width)) at columns 2i, the cosine at 2i + 1 (Vaswani et al. 2017, §3.5).
/// Row 0 is position `offset`. Throws kShape for a negative size.
Tensor SinusoidalPositions(Index length, Index width, Index offset = 0);

/// The slopes of `heads` heads: 2^(−8 i / H) for i = 1 … H when H is a power of two; otherwise those of the power
/// below, followed by every other one of twice that power (Press et al. 2022, and their code for other H).
std::vector<float> AlibiSlopes(Index heads);

/// The bucket of a distance key − query: exact when small, logarithmic up to `max_distance`, the last one beyond;
/// `bidirectional` gives half of the buckets to keys ahead, otherwise those count as distance 0 (Raffel et al. 2020,
/// §2.1). Buckets ≥ 2 (≥ 4 when bidirectional), max_distance larger than the number of exact ones.
Index T5Bucket(Index distance, Index buckets, bool bidirectional, Index max_distance);

/// Rotary positions (Su et al. 2021): pairs of a head's elements turned by position · base^(−2i/dim) / scale.
struct Rotary {
  RotaryPairs pairs = RotaryPairs::kHalf;
  Index dim = 0;  ///< of the head's leading elements, even; the rest is left as it is. 0: all of them
  double base = 10000.0;
  double scale = 1.0;  ///< positions are divided by it (linear interpolation, Chen et al. 2023)
};

/// Rotates x [B, H, T, d] in place; its first position is `offset`. Throws kShape when `dim` is odd or wider than the
/// head, kValue when base or scale is not positive.
void ApplyRotary(const Backend& backend, const Rotary& rotary, View<float, 4> x, Index offset);

/// Turns `q` and `k` in place, appends `k` and problem.v to `cache`, and lets the problem attend to all that it keeps:
/// sets k, v and the offsets of `problem`, and its window where the cache rolls. Either may be absent.
void RotateAndCache(const Backend& backend, const std::optional<Rotary>& rotary, View<float, 4> q, View<float, 4> k,
                    KvCache* cache, AttentionProblem& problem);

}  // namespace headlens

#endif  // HEADLENS_POSITIONS_H_
