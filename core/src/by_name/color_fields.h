// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BY_NAME_COLOR_FIELDS_H_
#define HEADLENS_SRC_BY_NAME_COLOR_FIELDS_H_

#include <span>

#include "base/field.h"
#include "headlens/image.h"

namespace headlens {

/// The options of the colours, of the range of values that they stand for, and of a picture's masked cells.
std::span<const Field<ColorOptions>> ColorbarFields();
std::span<const Field<ColorOptions>> RangeFields();
std::span<const Field<ColorOptions>> PictureFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_COLOR_FIELDS_H_
