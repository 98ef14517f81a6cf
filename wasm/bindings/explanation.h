// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_EXPLANATION_H_
#define HEADLENS_WASM_BINDINGS_EXPLANATION_H_

#include <span>
#include <vector>

#include "convert.h"
#include "headlens/explanation.h"

/// Explanations as objects of tensors. Parts are strings of their names, with commas between them, and the steps of
/// scores are one tensor [steps, cells].
namespace headlens {

val ExplanationToJs(const CellExplanation& explanation);
val ExplanationToJs(const RowExplanation& explanation);
val ExplanationToJs(const OutputExplanation& explanation);
val ExplanationToJs(const HeadSources& sources);
val ExplanationToJs(const LogitExplanation& explanation);

/// [2 + columns, count] of the largest or smallest numbers: tokens, their numbers, and their elements of each column.
val ExtremesToJs(std::span<const float> numbers, const std::vector<std::vector<double>>& columns, Index count,
                 bool largest);

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_EXPLANATION_H_
