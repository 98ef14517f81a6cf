// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_
#define HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_

#include "headlens/tensor.h"

namespace headlens::gpu {

/// The work-items of a group and the bytes of local memory that a kernel may use.
struct GroupLimits {
  Index items, local_memory;
};

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_GROUP_LIMITS_H_
