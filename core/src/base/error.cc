// SPDX-License-Identifier: Apache-2.0
#include "headlens/error.h"

namespace headlens {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kShape:
      return "shape";
    case ErrorCode::kOption:
      return "option";
    case ErrorCode::kValue:
      return "value";
    case ErrorCode::kDtype:
      return "dtype";
    case ErrorCode::kFormat:
      return "format";
    case ErrorCode::kMemory:
      return "memory";
    case ErrorCode::kUnsupported:
      return "unsupported";
  }
  return "internal";
}

}  // namespace headlens
