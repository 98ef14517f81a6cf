// SPDX-License-Identifier: Apache-2.0
/// Every name that callers may use.
#ifndef HEADLENS_NAMES_H_
#define HEADLENS_NAMES_H_

#include <string>

namespace headlens {

/// All operations, options, tensors, stages, metrics, analyses, conventions and error codes as a JSON object, each with
/// its documentation: what other languages' names are generated from. The same text in every call.
std::string DescribeNames();

}  // namespace headlens

#endif  // HEADLENS_NAMES_H_
