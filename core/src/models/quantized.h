// SPDX-License-Identifier: Apache-2.0
/// Matrices that are stored as 8-bit integers with a scale for each row, in the form that compressed-tensors calls
/// "int-quantized": "<name>" I8 [rows, columns] beside "<name>_scale" [rows, 1] or [rows].
#ifndef HEADLENS_SRC_MODELS_QUANTIZED_H_
#define HEADLENS_SRC_MODELS_QUANTIZED_H_

#include "files/json.h"
#include "headlens/state_dict.h"

namespace headlens::models {

/// Reads a config.json, and returns true when its model has such matrices. Throws kUnsupported, naming the setting, for
/// weights that are quantised in another way.
bool IsQuantized(const JsonField& config);

/// The same parameters, of which such a matrix is the floats of each row times its scale. They are computed when it is
/// taken, so that one matrix at a time is there in both forms. A matrix that is not of this form throws when it is
/// taken, as do all integers unless `is_quantized`. Borrows `state`.
StateDict WithScales(const StateDict& state, bool is_quantized);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_QUANTIZED_H_
