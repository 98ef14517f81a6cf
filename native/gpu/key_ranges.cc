// SPDX-License-Identifier: Apache-2.0
#include "gpu/key_ranges.h"

#include <algorithm>

namespace headlens::gpu {

std::vector<std::int32_t> RowRanges(const AttentionPlan& plan, const QueryRange& rows) {
  const Index each = rows.count * 2;
  std::vector<std::int32_t> ranges(static_cast<std::size_t>(plan.batch() * each));
  for (Index b = 0; b < plan.batch(); ++b) {
    std::int32_t* to = ranges.data() + b * each;
    if (b > 0 && !plan.masks().ranges_by_sequence()) {
      std::copy_n(to - each, each, to);
      continue;
    }
    for (Index t = 0; t < rows.count; ++t) {
      const KeyRange range = plan.masks().Range(b, rows.first + t);
      *to++ = static_cast<std::int32_t>(range.begin);
      *to++ = static_cast<std::int32_t>(range.end);
    }
  }
  return ranges;
}

std::vector<std::int64_t> TileRanges(const AttentionPlan& plan, const Pass& pass, const QueryRange& rows,
                                     const Tiling& tiling, bool plain) {
  const auto& [tiles, tile_rows, members] = tiling;
  std::vector<std::int64_t> ranges(static_cast<std::size_t>(plan.batch() * tiles * 4));
  Index last = -1;
  for (const Head& head : pass.heads) {
    if (head.b == last) continue;
    const Index before = last;
    last = head.b;
    if (before >= 0 && !plan.masks().ranges_by_sequence()) {
      std::copy_n(ranges.data() + before * tiles * 4, tiles * 4, ranges.data() + head.b * tiles * 4);
      continue;
    }
    for (Index tile = 0; tile < tiles; ++tile) {
      const Index first = tile * tile_rows / members;
      const Index end = std::min(((tile + 1) * tile_rows - 1) / members + 1, rows.count);
      KeyRange any, all{0, plain ? plan.keys() : 0};
      for (Index t = first; t < end; ++t) {
        const KeyRange range = plan.masks().Range(head.b, rows.first + t);
        any = Union(any, range);
        all = Intersection(all, range);
      }
      const std::int64_t quad[] = {any.begin, any.end, all.begin, all.end};
      std::copy_n(quad, 4, ranges.data() + (head.b * tiles + tile) * 4);
    }
  }
  return ranges;
}

}  // namespace headlens::gpu
