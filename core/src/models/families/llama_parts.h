// SPDX-License-Identifier: Apache-2.0
/// The parts of Llama (Touvron et al. 2023) that later families keep: its sizes, its projections, its order of layers.
#ifndef HEADLENS_SRC_MODELS_LLAMA_PARTS_H_
#define HEADLENS_SRC_MODELS_LLAMA_PARTS_H_

#include "models/family.h"

namespace headlens::models {

/// Reads the sizes and settings that all of these families have. Defaults are those of Llama.
Architecture ParseLlamaSizes(const JsonField& config);

/// The same with Llama's activation and its rotary positions.
Architecture ParseLlama(const JsonField& config);

/// Loads q, k, v and o, and the feed-forward network, of one layer. Its norms stay empty.
Layer LoadLlamaProjections(const Architecture& architecture, const StateDict& state, const Backend& backend);

/// Loads a layer of Llama: these parts, with a norm before each of the two.
Layer LoadLlamaLayer(const Architecture& architecture, const StateDict& state, const Backend& backend);

/// Loads a norm without bias.
Norm LoadRmsNorm(const StateDict& state, std::string_view name, Index width);

using NormLoader = Norm (*)(const StateDict& state, std::string_view name, Index width);

/// Loads the embeddings, the layers, the final norm and the decoder.
Parameters LoadLlama(const Architecture& architecture, const StateDict& state, const Backend& backend,
                     LayerLoader load_layer, NormLoader load_norm = LoadRmsNorm);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_LLAMA_PARTS_H_
