// SPDX-License-Identifier: Apache-2.0
/// Positions: tables that are added (position_tables.h), and rotary positions, which rotate queries and keys.
#ifndef HEADLENS_POSITIONS_H_
#define HEADLENS_POSITIONS_H_

#include <optional>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/position_tables.h"
#include "headlens/tensor.h"

namespace headlens {

/// Rotary positions (Su et al. 2021): pairs of a head's elements are rotated by the angle position · base^(−2i/dim) /
/// scale.
struct Rotary {
  RotaryPairs pairs = RotaryPairs::kHalf;
  Index dim = 0;  ///< rotates this many leading elements of a head, an even number; 0: all of them
  double base = 10000.0;
  double scale = 1.0;  ///< positions are divided by it (linear interpolation, Chen et al. 2023)
};

/// Rotates x [B, H, T, d] in place; the first of the T tokens is at position `offset`. Throws kShape when `dim` is odd
/// or wider than the head, and kValue when base or scale is not positive.
void ApplyRotary(const Backend& backend, const Rotary& rotary, DeviceView<float, 4> x, Index offset);

/// Rotates `q` and `k` in place, appends `k` and problem.v to `cache`, and lets the problem attend to everything in the
/// cache, as KvCache::Place does. `rotary` and `cache` may be absent.
void RotateAndCache(const Backend& backend, const std::optional<Rotary>& rotary, DeviceView<float, 4> q,
                    DeviceView<float, 4> k, KvCache* cache, AttentionProblem& problem);

}  // namespace headlens

#endif  // HEADLENS_POSITIONS_H_
