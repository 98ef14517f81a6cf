// SPDX-License-Identifier: Apache-2.0
/// The options and tensors of attention besides masks, normalisers and positions.
#ifndef HEADLENS_SRC_ATTENTION_SETTINGS_H_
#define HEADLENS_SRC_ATTENTION_SETTINGS_H_

#include <span>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// Options for rows with no key to look at and for NaN in masked keys.
std::span<const Field<AttentionSettings>> MaskedRowFields();

/// Options of the scores: head order and soft cap.
std::span<const Field<AttentionSettings>> ScoreFields();

/// The seed of the dropout.
std::span<const Field<AttentionSettings>> SeedFields();

/// Dropout, which is an option of functions and of layers, but not of a layer's call.
std::span<const Field<AttentionSettings>> DropoutFields();

/// The tensor with a factor for each head.
std::span<const Field<AttentionSettings>> HeadMaskFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_SETTINGS_H_
