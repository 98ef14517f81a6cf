// SPDX-License-Identifier: Apache-2.0
/// The options of the calls of models and of caches.
#ifndef HEADLENS_SRC_BY_NAME_MODEL_FIELDS_H_
#define HEADLENS_SRC_BY_NAME_MODEL_FIELDS_H_

#include <span>

#include "base/field.h"
#include "headlens/model_call.h"

namespace headlens {

/// The lists that stand beside the tokens of a text, and the changes in a run of a model.
std::span<const Field<ModelInput>> TokenFields();
std::span<const Field<AttendOptions>> AttendFields();

/// The options of maps, which the package reads itself, so that the module gets plain numbers.
struct MapOptions {
  PoolKind pooling = PoolKind::kMean;
};

/// The rows of a map, of its summaries or of logits that a caller wants, and the other options of maps.
std::span<const Field<MapOptions>> RowFields();
std::span<const Field<MapOptions>> MapFields();
/// The options of pictures of several heads.
std::span<const Field<MapOptions>> OverviewFields();

/// The options of all that keeps keys and values, and of caches alone.
std::span<const Field<CacheOptions>> KeptFields();
std::span<const Field<CacheOptions>> CacheFields();

std::span<const Field<RankOptions>> RankFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_MODEL_FIELDS_H_
