// SPDX-License-Identifier: Apache-2.0
/// The options that describe layers.
#ifndef HEADLENS_SRC_LAYERS_FIELDS_H_
#define HEADLENS_SRC_LAYERS_FIELDS_H_

#include <span>

#include "base/field.h"
#include "headlens/transformer.h"

namespace headlens {

/// Options of every attention layer.
std::span<const Field<MultiheadConfig>> HeadsFields();
/// Further options of multi-head attention.
std::span<const Field<MultiheadConfig>> MultiheadFields();
/// Further options of encoder and decoder layers.
std::span<const Field<TransformerLayerConfig>> TransformerFields();
std::span<const Field<Rotary>> RotaryFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_LAYERS_FIELDS_H_
