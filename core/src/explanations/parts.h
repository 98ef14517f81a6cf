// SPDX-License-Identifier: Apache-2.0
/// The parts of residual streams, seen through a linear map.
#ifndef HEADLENS_SRC_EXPLANATIONS_PARTS_H_
#define HEADLENS_SRC_EXPLANATIONS_PARTS_H_

#include <span>
#include <vector>

#include "headlens/explanation.h"
#include "models/run.h"

namespace headlens::explanations {

using models::Run;

struct PartProducts {
  std::vector<StreamPart> parts;
  Tensor values;  // [tokens, parts, outputs]
};

/// A place where a stream is read.
struct StreamPlace {
  Index layer = 0;        // the stream before this layer; with the number of layers, after the last one
  bool is_cross = false;  // behind that layer's own heads, where those read that look at a source
};

/// W x̂_a + b for every part a of the streams of some tokens at a place, where x̂ is what the norm before the attention
/// that reads them makes of the stream; after the last layer, the final norm. `w` is [outputs, D], and `bias` [outputs]
/// or empty. Each token's products sum to what W x̂ + b is for its whole stream. Throws kOption when the parts were not
/// kept.
PartProducts ProjectParts(const Run& run, const StreamPlace& place, std::span<const std::int32_t> tokens,
                          View<const float, 2> w, std::span<const float> bias);

/// The number by which a norm multiplies a row [width] of its input: 1 / √(variance + eps), or 1 / √(mean square +
/// eps).
double FrozenFactor(const BlockForm& form, const float* x, Index width);

/// Takes the streams of some tokens before layer `layer` through the norm before its attention and a projection: [n,
/// outputs].
Tensor ProjectStreams(const Run& run, Index layer, std::span<const std::int32_t> tokens,
                      const LinearWeights& projection);

/// Takes rows [n, D], parts of the streams from token `first` on, through all norms from the heads that read at a place
/// and wrote them to the logits: γ ∘ (x − mean) / σ with the statistics of the whole streams, without the shifts.
void ScaleByNorms(const Run& run, const StreamPlace& written, Index first, const Tensor& rows);

}  // namespace headlens::explanations

#endif  // HEADLENS_SRC_EXPLANATIONS_PARTS_H_
