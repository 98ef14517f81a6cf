// SPDX-License-Identifier: Apache-2.0
/// The options and tensors that every attention takes beside masks, normalisers and positions.
#ifndef HEADLENS_SRC_ATTENTION_SETTINGS_H_
#define HEADLENS_SRC_ATTENTION_SETTINGS_H_

#include <span>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

/// What a row with no key to look at gets, and what masked NaN do: of how scores become weights.
std::span<const Field<AttentionSettings>> MaskedRowFields();

/// The numbers and orders.
std::span<const Field<AttentionSettings>> AttentionFields();

/// Dropout, which is an option of functions and of layers, not of a layer's call.
std::span<const Field<AttentionSettings>> DropoutFields();

/// The tensor of factors on heads.
std::span<const Field<AttentionSettings>> HeadMaskFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_SETTINGS_H_
