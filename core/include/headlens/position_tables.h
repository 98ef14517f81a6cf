// SPDX-License-Identifier: Apache-2.0
/// The numbers behind positions: rows that are added to embeddings, slopes and buckets of biases on the scores.
#ifndef HEADLENS_POSITION_TABLES_H_
#define HEADLENS_POSITION_TABLES_H_

#include <vector>

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

}  // namespace headlens

#endif  // HEADLENS_POSITION_TABLES_H_
