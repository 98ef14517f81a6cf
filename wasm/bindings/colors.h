// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_COLORS_H_
#define HEADLENS_WASM_BINDINGS_COLORS_H_

#include "convert.h"
#include "headlens/image.h"

namespace headlens {

/// { data, width, height } with the RGBA bytes of `values`, one pixel a cell.
val ImageToJs(View<const float, 2> values, const ColorOptions& colors);

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_COLORS_H_
