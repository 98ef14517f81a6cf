// SPDX-License-Identifier: Apache-2.0
/// Tables for positions: rows that are added to embeddings, and the slopes and buckets of biases on the scores.
#ifndef HEADLENS_POSITION_TABLES_H_
#define HEADLENS_POSITION_TABLES_H_

#include <vector>

#include "headlens/tensor.h"

namespace headlens {

/// A table [length, width] with sin(position / 10000^(2i/width)) in columns 2i and the cosine in columns 2i + 1
/// (Vaswani et al. 2017, §3.5). Row 0 is position `offset`. Throws kShape for a negative size.
Tensor SinusoidalPositions(Index length, Index width, Index offset = 0);

/// The ALiBi slopes of `heads` heads (Press et al. 2022, and their program for other numbers of heads). When H is a
/// power of two: 2^(−8 i / H) for i = 1 … H. Otherwise: the slopes of the next lower power of two, followed by every
/// other slope of twice that power.
std::vector<float> AlibiSlopes(Index heads);

/// The T5 bucket of the distance key − query (Raffel et al. 2020, §2.1). Short distances have a bucket each, longer
/// ones share buckets on a logarithmic scale up to `max_distance`, and all beyond are in the last bucket.
/// `bidirectional` gives half of the buckets to keys after the query; otherwise those keys count as distance 0. Needs
/// buckets ≥ 2 (≥ 4 when bidirectional) and a max_distance larger than the number of distances with their own bucket.
Index T5Bucket(Index distance, Index buckets, bool bidirectional, Index max_distance);

}  // namespace headlens

#endif  // HEADLENS_POSITION_TABLES_H_
