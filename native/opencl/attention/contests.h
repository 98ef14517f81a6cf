// SPDX-License-Identifier: Apache-2.0
/// The races between kernels for attention without cells, and the problems that they are held over.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_CONTESTS_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_CONTESTS_H_

#include <vector>

#include "opencl/tuning/race.h"

namespace headlens::opencl {

/// The races of the ordinary kernels, and of a precision's matrix units against these.
std::vector<Contest> OnlineContests();
std::vector<Contest> FusedContests(Precision precision);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_CONTESTS_H_
