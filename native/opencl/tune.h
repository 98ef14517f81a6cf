// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_TUNE_H_
#define HEADLENS_NATIVE_OPENCL_TUNE_H_

#include <vector>

#include "opencl/tuning/race.h"

namespace headlens::opencl {

/// The races that a session's precision is for. Those of matrix units are held only where the device has such.
std::vector<Contest> Contests(Session& session);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNE_H_
