// SPDX-License-Identifier: Apache-2.0
/// The inputs of analyses of maps: the weights, the cells that count, and further facts.
#ifndef HEADLENS_SRC_BY_NAME_ANALYSES_MAPS_H_
#define HEADLENS_SRC_BY_NAME_ANALYSES_MAPS_H_

#include <span>

#include "base/field.h"
#include "by_name/analyses/call.h"
#include "headlens/metrics.h"

namespace headlens {

/// The options of `Part::kMask`.
std::span<const Field<MapInfo>> MapMaskFields();

/// The weights of the heads of one layer.
struct HeadMaps {
  View<const float, 3> weights;
};
std::span<const Field<HeadMaps>> HeadMapsFields();

/// The weights of the heads of all layers.
struct LayerMaps {
  View<const float, 4> weights;
};
std::span<const Field<LayerMaps>> LayerMapsFields();

/// Heads with all facts about their maps, which are the options of `Part::kContext`.
class KnownMaps : public HeadMaps {
 public:
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, HeadMapsFields(), *this);
    take(Part::kMask, MapMaskFields(), info_);
    take(Part::kContext, TokenFields(), info_);
    take(Part::kContext, RepeatFields(), told_);
    take(Part::kContext, GridFields(), info_.grid);
  }

  /// The facts about the maps. Finds the repeated sequence in the tokens unless it was given.
  MapInfo Info() const;

 private:
  static std::span<const Field<MapInfo>> TokenFields();
  static std::span<const Field<RepeatedSequence>> RepeatFields();
  static std::span<const Field<PatchGrid>> GridFields();

  MapInfo info_;
  RepeatedSequence told_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_ANALYSES_MAPS_H_
