// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_ERROR_H_
#define HEADLENS_ERROR_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace headlens {

/// What kind of rule a call broke. The names cross every boundary unchanged: npm errors and the command line show them.
enum class ErrorCode {
  kShape,        ///< sizes that do not fit together
  kOption,       ///< an unknown option, or one that contradicts another
  kValue,        ///< a number out of its range, a NaN where none may be
  kDtype,        ///< an element type that does not fit
  kFormat,       ///< a file that breaks its format
  kMemory,       ///< more memory than there is, or than can be addressed
  kUnsupported,  ///< right, but not offered here
};

/// "shape", "option", …
std::string_view ToString(ErrorCode code);

/// The one exception of the library: a stable code, and a message that names the argument, what it was and what was
/// expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace headlens

#endif  // HEADLENS_ERROR_H_
