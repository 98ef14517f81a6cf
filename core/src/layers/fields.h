// SPDX-License-Identifier: Apache-2.0
/// The options that describe layers.
#ifndef HEADLENS_SRC_LAYERS_FIELDS_H_
#define HEADLENS_SRC_LAYERS_FIELDS_H_

#include <span>

#include "base/field.h"
#include "headlens/transformer.h"

namespace headlens {

/// What the attention of every layer is told.
std::span<const Field<MultiheadConfig>> HeadsFields();
/// What multi-head attention alone is told, beside that.
std::span<const Field<MultiheadConfig>> MultiheadFields();
/// What encoder and decoder layers are told beside it.
std::span<const Field<TransformerLayerConfig>> TransformerFields();
std::span<const Field<Rotary>> RotaryFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_LAYERS_FIELDS_H_
