// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_
#define HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_

#include "headlens/tensor.h"

namespace headlens::gpu {

/// A kernel may count on so many work-items in a group, and on so many bytes of local memory.
struct GroupLimits {
  Index items, local_memory;
};

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_
