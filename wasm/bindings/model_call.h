// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_MODEL_CALL_H_
#define HEADLENS_WASM_BINDINGS_MODEL_CALL_H_

#include <cstdint>
#include <vector>

#include "convert.h"
#include "headlens/model.h"

namespace headlens {

/// Owns what JavaScript gives a model: { ids, segments, padding, image } and { headMask, zeroedToken, zeroedLayer,
/// keepHidden, keepValues }, each absent or of the right kind. `input` and `options` borrow from it.
class ModelCall {
 public:
  /// Throws kShape when an image or a head mask has not as many values as the model wants.
  ModelCall(const ModelInfo& info, const val& given);

  ModelInput input;
  AttendOptions options;

 private:
  std::vector<std::int32_t> ids_, segments_;
  std::vector<std::uint8_t> padding_;
  std::vector<float> image_, head_mask_;
};

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_MODEL_CALL_H_
