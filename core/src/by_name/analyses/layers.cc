// SPDX-License-Identifier: Apache-2.0
/// Analyses that combine the maps of all layers into one map [T, T].
#include "base/views.h"
#include "by_name/analyses/maps.h"
#include "headlens/attribution.h"

namespace headlens {
namespace {

constexpr Choice kFusions[] = {{"mean", HeadFusion::kMean}, {"max", HeadFusion::kMax}, {"min", HeadFusion::kMin}};

/// The options that both analyses have, for either type of options.
template <class Options>
constexpr auto FusionField() {
  return field::OneOf<&Options::fusion>("fusion", kFusions, "The way in which the heads of a layer become one map.");
}

template <class Options>
constexpr auto DiscardField() {
  return field::Number<&Options::discard_ratio>("discard_ratio",
                                                "This fraction of each layer's fused weights, the smallest ones, is "
                                                "set to 0. Masked cells are among the smallest.");
}

constexpr Field<RolloutOptions> kRollout[] = {
    FusionField<RolloutOptions>(),
    DiscardField<RolloutOptions>(),
    field::Count<&RolloutOptions::start_layer>("start_layer", 0, "Layers before this one are left out."),
};
constexpr Field<FlowOptions> kFlow[] = {
    FusionField<FlowOptions>(),
    DiscardField<FlowOptions>(),
    field::Count<&FlowOptions::max_tokens>("max_tokens", 1,
                                           "A longer text is refused, since T² maximal flows take long."),
};

struct RolloutQuestion : LayerMaps {
  RolloutOptions options;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, LayerMapsFields(), *this);
    take(Part::kMask, MapMaskFields(), options.info);
    take(Part::kOption, kRollout, options);
  }

  void Answer(AnalysisCall& call) const {
    Rollout rollout(options);
    for (Index layer = 0; layer < weights.shape[0]; ++layer) rollout.Add(Slice(weights, layer));
    call.Answer(rollout.result());
  }
};

struct FlowQuestion : LayerMaps {
  FlowOptions options;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, LayerMapsFields(), *this);
    take(Part::kMask, MapMaskFields(), options.info);
    take(Part::kOption, kFlow, options);
  }

  void Answer(AnalysisCall& call) const {
    if (const std::optional<Matrix> flow = AttentionFlow(weights, options)) call.Answer(*flow);
  }
};

constexpr Doc kMasksDoc = "The masks apply to every layer. A token whose row does not count keeps only itself.";

}  // namespace

extern const AnalysisKind kRolloutAnalysis =
    MakeAnalysis<RolloutQuestion>("rollout",
                                  "Attention rollout (Abnar & Zuidema 2020): how much each input token contributes to "
                                  "each token after all layers [T,T].",
                                  "rollout_options", kMasksDoc);

extern const AnalysisKind kFlowAnalysis = MakeAnalysis<FlowQuestion>(
    "flow", "Attention flow (Abnar & Zuidema 2020): the maximal flow from each input token to each token [T,T].",
    "flow_options", kMasksDoc);

}  // namespace headlens
