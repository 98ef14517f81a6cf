// SPDX-License-Identifier: Apache-2.0
/// The parts of the Vision Transformer (Dosovitskiy et al. 2021) that later families keep.
#ifndef HEADLENS_SRC_MODELS_VIT_PARTS_H_
#define HEADLENS_SRC_MODELS_VIT_PARTS_H_

#include "models/family.h"

namespace headlens::models {

/// Reads the sizes and settings that these families have, for models with these tokens before the patches.
Architecture ParseVit(const JsonField& config, std::vector<std::string> prefix, double default_norm_eps);

/// Tokens before the patches: a parameter [1, count, D].
struct PrefixTokens {
  const char* name;
  Index count;
  bool has_positions;
};

/// Loads all but a classifier: the projection of patches, the tokens of the prefix and the positions of what has them,
/// the layers, and the final norm.
Parameters LoadVitBase(const Architecture& architecture, const StateDict& state,
                       const std::vector<PrefixTokens>& prefix, const Backend& backend, LayerLoader load_layer);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_VIT_PARTS_H_
