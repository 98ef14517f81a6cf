// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_HANDLES_H_
#define HEADLENS_WASM_BINDINGS_HANDLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "convert.h"
#include "headlens/model_call.h"

/// The handles that a model makes. JavaScript owns them; each shares the model, and so outlives it whichever of them
/// JavaScript deletes first.
namespace headlens {

/// The run has to be finished before the handle shows anything.
val AttentionToJs(AttendSteps steps, const ModelInfo& info);

/// Gives a run that is not finished, and whose layers are not begun. `inputs` are as Feed takes them. Whoever wants all
/// at once gets the pieces that are best for that. What the input has in common with that of `before`, which may be
/// null, is taken from there.
val BeginRun(const val& inputs, const std::string& options, bool at_once, const Model& model,
             const ModelAttention* before);

val DecodingToJs(Decoding decoding);

val DifferenceToJs(std::shared_ptr<const ModelAttention> a, std::shared_ptr<const ModelAttention> b);

/// Of the paths to one head, or to all when `layer` is negative.
val PathFinderToJs(std::shared_ptr<const ModelAttention> attention, Index layer, Index head);

val FinderToJs(Model model, RankOptions options, std::vector<std::int32_t> special_tokens);

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_HANDLES_H_
