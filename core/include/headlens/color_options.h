// SPDX-License-Identifier: Apache-2.0
/// The options of pictures by name, for callers who have them as JSON, such as the npm package.
#ifndef HEADLENS_COLOR_OPTIONS_H_
#define HEADLENS_COLOR_OPTIONS_H_

#include <string_view>

#include "headlens/image.h"

namespace headlens {

/// Reads `options`, a JSON object with the members of ColorOptions. Throws kOption for an unknown name, for a value of
/// the wrong kind, and for a range that does not go up.
ColorOptions ReadColorOptions(std::string_view options);

}  // namespace headlens

#endif  // HEADLENS_COLOR_OPTIONS_H_
