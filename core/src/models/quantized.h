// SPDX-License-Identifier: Apache-2.0
/// The setting of config.json that says how weights are quantised.
#ifndef HEADLENS_SRC_MODELS_QUANTIZED_H_
#define HEADLENS_SRC_MODELS_QUANTIZED_H_

#include "files/json.h"

namespace headlens::models {

/// Returns true when matrices are 8-bit integers with a scale for each row (see WithScales), which compressed-tensors
/// calls "int-quantized", and false when nothing is said. Throws kUnsupported for any other form, naming the setting.
bool IsQuantized(const JsonField& config);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_QUANTIZED_H_
