// SPDX-License-Identifier: Apache-2.0
/// The parts of the Vision Transformer (Dosovitskiy et al. 2021) that later families keep.
#ifndef HEADLENS_SRC_MODELS_VIT_PARTS_H_
#define HEADLENS_SRC_MODELS_VIT_PARTS_H_

#include "models/family.h"

namespace headlens::models {

/// Reads the sizes and settings that these families have, for models with `prefix` tokens before the patches.
Architecture ParseVit(const JsonField& config, Index prefix, double default_norm_eps);

/// Tokens before the patches: a parameter [1, count, D].
struct PrefixTokens {
  const char* name;
  Index count;
  bool has_positions;
};

/// Loads the projection of patches, the tokens of the prefix, and the positions of what has them.
void LoadPatchEmbeddings(const Architecture& architecture, const StateDict& embeddings,
                         const std::vector<PrefixTokens>& prefix, const Backend& backend, Parameters& parameters);

/// Loads a layer of ViT.
Layer LoadVitLayer(const Architecture& architecture, const StateDict& state, const Backend& backend);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_VIT_PARTS_H_
