// SPDX-License-Identifier: Apache-2.0
/// The parts of GPT-2 (Radford et al. 2019) that GPT-Neo keeps.
#ifndef HEADLENS_SRC_MODELS_FAMILIES_GPT2_PARTS_H_
#define HEADLENS_SRC_MODELS_FAMILIES_GPT2_PARTS_H_

#include "models/family.h"

namespace headlens::models {

/// Loads the embeddings, the layers, the final norm and the decoder.
Parameters LoadGpt2(const Architecture& architecture, const StateDict& state, const Backend& backend,
                    LayerLoader load_layer);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_FAMILIES_GPT2_PARTS_H_
