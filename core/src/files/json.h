// SPDX-License-Identifier: Apache-2.0
/// JSON from outside.
#ifndef HEADLENS_SRC_FILES_JSON_H_
#define HEADLENS_SRC_FILES_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace headlens {

/// Parses an object, at most `deepest` deep, since values are copied and shown by functions that recurse. Throws
/// kFormat, calling it `what`, for anything else, and for a name that stands in it twice.
nlohmann::json ParseObject(std::string_view text, const std::string& what, std::size_t deepest = 64);

/// A value in a message: short, and on one line.
std::string Shown(const nlohmann::json& value);

}  // namespace headlens

#endif  // HEADLENS_SRC_FILES_JSON_H_
