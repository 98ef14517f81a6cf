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
/// The factors of heads, which decoding has as well.
std::span<const Field<AttendOptions>> HeadFactorFields();

/// The options of maps, which the package reads itself, so that the module gets plain numbers.
struct MapOptions {
  AttentionPart part = AttentionPart::kDecoder;
  PoolKind pooling = PoolKind::kMean;
};

/// The choice of one of an encoder–decoder's attentions.
std::span<const Field<MapOptions>> PartFields();
/// The same for a step of decoding, whose source was read before, and for what heads add to logits.
std::span<const Field<MapOptions>> StepPartFields();

/// The rows of a map, of its summaries or of logits that a caller wants, and the other options of maps and of logits.
std::span<const Field<MapOptions>> RowFields();
std::span<const Field<MapOptions>> MapFields();
std::span<const Field<MapOptions>> LogitFields();
/// The options of pictures of several heads.
std::span<const Field<MapOptions>> OverviewFields();

/// The places of a head, of a query in its map, and of a key; all read by the package, too.
std::span<const Field<MapOptions>> HeadFields();
std::span<const Field<MapOptions>> QueryFields();
std::span<const Field<MapOptions>> KeyFields();
/// The tokens whose logits are explained or listed.
std::span<const Field<MapOptions>> PositionFields();
std::span<const Field<MapOptions>> ContributionFields();
std::span<const Field<MapOptions>> TopFields();
std::span<const Field<MapOptions>> LensFields();
/// The pair of tokens at which predictions of two runs are compared.
std::span<const Field<MapOptions>> PairFields();
/// The paths of two heads that are looked for.
std::span<const Field<MapOptions>> PathFields();
/// The head outputs that make a patch.
std::span<const Field<MapOptions>> PatchFields();

/// The options of all that keeps keys and values, and of caches alone.
std::span<const Field<CacheOptions>> KeptFields();
std::span<const Field<CacheOptions>> CacheFields();

std::span<const Field<RankOptions>> RankFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_MODEL_FIELDS_H_
