// SPDX-License-Identifier: Apache-2.0
/// The parts of the Vision Transformer (Dosovitskiy et al. 2021) that later families keep.
#ifndef HEADLENS_SRC_MODELS_VIT_PARTS_H_
#define HEADLENS_SRC_MODELS_VIT_PARTS_H_

#include "models/family.h"

namespace headlens::models {

/// Reads the sizes and settings that these families have, for models with these tokens before the patches.
Architecture ParseVit(const JsonField& config, std::vector<std::string> prefix, double default_norm_eps);

/// The tokens that follow CLS in the prefix: a parameter [1, n, D]. They have positions, or none.
struct MoreTokens {
  const char* name = nullptr;
  bool has_positions = false;
};

/// Loads all but a classifier: the projection of patches, the tokens of the prefix and the positions, the layers, and
/// the final norm.
Parameters LoadVitBase(const Architecture& architecture, const StateDict& state, const MoreTokens& more,
                       const Backend& backend, LayerLoader load_layer);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_VIT_PARTS_H_
