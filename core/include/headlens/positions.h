// SPDX-License-Identifier: Apache-2.0
/// All positions: tables that are added (position_tables.h), and rotary ones, by which queries and keys are turned.
#ifndef HEADLENS_POSITIONS_H_
#define HEADLENS_POSITIONS_H_

#include <optional>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/position_tables.h"
#include "headlens/tensor.h"

namespace headlens {

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
