// SPDX-License-Identifier: Apache-2.0
/// The beginning of the residual stream: the embeddings of tokens, or of the patches of an image.
#ifndef HEADLENS_SRC_MODELS_EMBEDDING_H_
#define HEADLENS_SRC_MODELS_EMBEDDING_H_

#include "models/family.h"

namespace headlens::models {

/// The rows of the residual stream for tokens at positions from `first_position` on. Throws as Model::Attend does.
DeviceTensor Embed(const LoadedModel& model, const ModelInput& input, Index first_position);

/// Throws kValue unless an input has a source where the model has an encoder, and only there.
void ExpectSource(const LoadedModel& model, const ModelInput& input);

/// The embeddings whose sum Embed normalises, for some tokens of an input that Embed took: rows [n, D], or empty where
/// the model has none of a kind. The bias is that of the projection of patches, which CLS and other tokens of the
/// prefix do not have.
struct EmbeddingParts {
  Tensor token, position, segment, bias;
};
EmbeddingParts EmbeddingPartsOf(const LoadedModel& model, const ModelInput& input,
                                std::span<const std::int32_t> tokens);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_EMBEDDING_H_
