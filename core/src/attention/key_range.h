// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_ATTENTION_KEY_RANGE_H_
#define HEADLENS_SRC_ATTENTION_KEY_RANGE_H_

#include "headlens/tensor.h"

namespace headlens {

/// Keys [begin, end).
struct KeyRange {
  Index begin = 0, end = 0;
};

/// The keys from the first of either to the last.
inline KeyRange Union(KeyRange a, KeyRange b) {
  if (a.begin >= a.end) return b;
  if (b.begin >= b.end) return a;
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

/// The keys that both ranges have; [0, 0) when there are none.
inline KeyRange Intersection(KeyRange a, KeyRange b) {
  const KeyRange both{a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  return both.begin < both.end ? both : KeyRange{};
}

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_KEY_RANGE_H_
