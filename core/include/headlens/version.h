// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_VERSION_H_
#define HEADLENS_VERSION_H_

namespace headlens {
/// "0.1.0": the version of the CMake project, which the npm package shares.
const char* Version();
}  // namespace headlens

#endif  // HEADLENS_VERSION_H_
