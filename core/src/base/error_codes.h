// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BASE_ERROR_CODES_H_
#define HEADLENS_SRC_BASE_ERROR_CODES_H_

#include <span>

#include "base/field.h"

namespace headlens {

/// The names of all error codes.
std::span<const Choice> ErrorCodes();

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_ERROR_CODES_H_
