// SPDX-License-Identifier: Apache-2.0
/// A description of every name that callers may use.
#ifndef HEADLENS_NAMES_H_
#define HEADLENS_NAMES_H_

#include <string>

namespace headlens {

/// All operations, options, tensors, stages, metrics, analyses, conventions and error codes with their documentation,
/// as a JSON object from which the names in other languages are generated. Every call returns the same text.
std::string DescribeNames();

}  // namespace headlens

#endif  // HEADLENS_NAMES_H_
