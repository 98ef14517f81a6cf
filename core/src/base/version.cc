// SPDX-License-Identifier: Apache-2.0
#include "headlens/version.h"

namespace headlens {
const char* Version() { return HEADLENS_VERSION; }
}  // namespace headlens
