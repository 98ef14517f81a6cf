// SPDX-License-Identifier: Apache-2.0
/// Rotary positions as Hugging Face's config.json describes them.
#ifndef HEADLENS_SRC_MODELS_ROPE_H_
#define HEADLENS_SRC_MODELS_ROPE_H_

#include "files/json.h"
#include "headlens/tensor.h"

namespace headlens::models {

/// The ways to stretch the angles for texts longer than those of the training.
enum class RopeScaling {
  kNone,
  kLinear,   // positions divided by the factor (Chen et al. 2023)
  kDynamic,  // all frequencies lowered by the text's own length, once it exceeds that of the training
  kLlama3,   // low frequencies divided by the factor, high ones kept, with a smooth transition (Llama 3.1)
  kYarn,     // the same by the number of turns, with sharper attention (Peng et al. 2023)
};

struct Rope {
  Index dim = 0;  // this many first elements of a head are rotated
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double original_positions = 0.0;                                 // of the training
  double low_frequency_factor = 1.0, high_frequency_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;                        // yarn
  bool truncate = true;                                            // yarn
  double attention_factor = 1.0;                                   // yarn: multiplies cosine and sine
  Index max_positions = 0;                                         // after the stretch
};

/// Reads rope_theta and rope_scaling, or rope_parameters, which newer files have instead.
Rope ParseRope(const JsonField& config, Index head_dim);
/// Reads `parameters`, which may be null, with `theta` for what they leave out.
Rope ParseRope(const JsonField& config, const JsonField& parameters, double theta, Index head_dim);

/// The number of a head's first elements that are rotated. Older files have the share as `key`.
Index RotatedDim(const JsonField& config, const char* key, double fallback, Index head_dim);
/// Throws kUnsupported when only a part of each head is rotated.
void RequireWholeRotation(const JsonField& config);

struct RopeAngles {
  Tensor cosine, sine;  // [positions, dim/2]
};

/// The angles of positions [first, first + count) in a text of `length` tokens.
RopeAngles AnglesAt(const Rope& rope, Index first, Index count, Index length);

/// Returns true when a text of this length has the angles of a shorter one.
bool HasFixedAngles(const Rope& rope, Index length);
/// Throws kUnsupported when a text of this length has other angles than a shorter one.
void RequireFixedAngles(const Rope& rope, Index length);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_ROPE_H_
