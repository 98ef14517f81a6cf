// SPDX-License-Identifier: Apache-2.0
#include "headlens/error.h"

#include "base/error_codes.h"

namespace headlens {

std::span<const Choice> ErrorCodes() {
  static constexpr Choice kCodes[] = {
      {"shape", ErrorCode::kShape, "Sizes that do not fit together."},
      {"option", ErrorCode::kOption, "An unknown option, or one that contradicts another."},
      {"value", ErrorCode::kValue, "A number out of its range, a NaN where none may be."},
      {"dtype", ErrorCode::kDtype, "An element type that does not fit."},
      {"format", ErrorCode::kFormat, "A file that breaks its format."},
      {"memory", ErrorCode::kMemory, "More memory than there is, or than can be addressed."},
      {"unsupported", ErrorCode::kUnsupported, "Right, but not offered here."},
  };
  return kCodes;
}

std::string_view ToString(ErrorCode code) {
  for (const Choice& choice : ErrorCodes())
    if (choice.value == static_cast<int>(code)) return choice.name;
  return "internal";
}

}  // namespace headlens
