// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_ATTENTION_KEY_RANGE_H_
#define HEADLENS_SRC_ATTENTION_KEY_RANGE_H_

#include "headlens/tensor.h"

namespace headlens {

/// Keys [begin, end).
struct KeyRange {
  Index begin = 0, end = 0;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_KEY_RANGE_H_
