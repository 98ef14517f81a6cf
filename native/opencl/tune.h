// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_TUNE_H_
#define HEADLENS_NATIVE_OPENCL_TUNE_H_

#include <vector>

#include "opencl/tuning/race.h"

namespace headlens::opencl {

/// The races for a session's precision. Those of matrix units are only held when the device has matrix units.
std::vector<Contest> Contests(Session& session);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_TUNE_H_
