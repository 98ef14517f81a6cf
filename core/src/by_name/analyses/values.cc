// SPDX-License-Identifier: Apache-2.0
/// Analyses of the values behind the weights.
#include "base/checks.h"
#include "by_name/analyses/maps.h"
#include "headlens/attribution.h"

namespace headlens {
namespace {

/// The values for each head, [H, S, dv], which are those of its group. `storage` keeps them when they must be repeated.
View<const float, 3> PerHead(const View<const float, 3>& values, Index heads, Tensor& storage) {
  const Index groups = values.shape[0], size = values.shape[1] * values.shape[2];
  if (groups == heads) return values;
  if (groups < 1 || heads % groups != 0) {
    throw ShapeError("`values`", SizesOf(values),
                     {"a number of groups that divides the ", heads, " heads of `weights`"});
  }
  storage = Tensor({heads, values.shape[1], values.shape[2]});
  for (Index h = 0; h < heads; ++h) std::copy_n(values.at(h * groups / heads), size, storage.data() + h * size);
  return storage.view<3>();
}

struct Values {
  View<const float, 3> values;
};
constexpr Field<Values> kValues[] = {
    field::Required(field::TextFloats<&Values::values>("values", "G,S,dv", "The heads' values, as in the stage `v`.")),
};

struct WeightedOptions {
  View<const float, 2> out_weight;
  bool normalize = true;
};
constexpr Field<WeightedOptions> kWeighted[] = {
    field::Finite(
        field::TextFloats<&WeightedOptions::out_weight>("out_weight", "D,H·dv",
                                                        "As out_proj.weight. With it, the norms are those of the "
                                                        "vectors that the heads write instead of the values'.")),
    field::Flag<&WeightedOptions::normalize>(
        "normalize",
        "Divides the norms by the largest (default). With false they are used as they are (Kobayashi et al. 2020)."),
};

struct WeightedMapQuestion : HeadMaps, Values {
  MapInfo info;
  WeightedOptions options;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, HeadMapsFields(), *this);
    take(Part::kArgument, kValues, *this);
    take(Part::kMask, MapMaskFields(), info);
    take(Part::kOption, kWeighted, options);
  }

  void Answer(AnalysisCall& call) const {
    Tensor repeated;
    const View<const float, 3> per_head = PerHead(values, weights.shape[0], repeated);
    Tensor maps({weights.shape[0], weights.shape[1], weights.shape[2]});
    float* to = maps.data();
    for (Index h = 0; h < weights.shape[0]; ++h) {
      View<const float, 2> carried = Slice(per_head, h);
      Tensor written;
      if (options.out_weight) {
        written = TransformedValues(carried, options.out_weight, h);
        carried = written.view<2>();
      }
      const Matrix map = options.normalize ? ValueWeighted(Slice(weights, h), carried, info)
                                           : WeightedNorms(Slice(weights, h), carried, info);
      for (const double value : map.values()) *to++ = static_cast<float>(value);
    }
    call.Answer(std::move(maps));
  }
};

constexpr Field<AttentionSummands> kOutWeight[] = {
    field::Required(field::Finite(
        field::TextFloats<&AttentionSummands::out_weight>("out_weight", "D,H·dv", "As out_proj.weight."))),
};

/// The inputs of all analyses of an attention layer's summands.
struct Summands : HeadMaps, Values {
  AttentionSummands layer;
  Tensor repeated;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, HeadMapsFields(), *this);
    take(Part::kArgument, kValues, *this);
    take(Part::kArgument, kOutWeight, layer);
    take(Part::kMask, MapMaskFields(), layer.info);
  }

  /// The layer, with the values for each head.
  const AttentionSummands& Layer() {
    layer.weights = weights;
    layer.values = PerHead(values, weights.shape[0], repeated);
    return layer;
  }
};

struct LayerNormsQuestion : Summands {
  void Answer(AnalysisCall& call) { call.Answer(LayerNorms(Layer())); }
};

constexpr Field<MixingOptions> kMixing[] = {
    field::TextFloats<&MixingOptions::residual>("residual", "T,D", "The layer's output is added to this."),
    field::Finite(
        field::TextFloats<&MixingOptions::layer_norm>("layer_norm", "D", "The scale γ of the layer norm after that.")),
    field::Number<&MixingOptions::layer_norm_eps>("layer_norm_eps",
                                                  "The number that the layer norm adds under its root."),
};

struct MixingRatioQuestion : Summands {
  MixingOptions options;

  template <class Take>
  void Fields(const Take& take) {
    Summands::Fields(take);
    take(Part::kOption, kMixing, options);
  }

  void Answer(AnalysisCall& call) {
    nlohmann::json tokens = nlohmann::json::array();
    for (const std::optional<double>& ratio : MixingRatio(Layer(), options)) tokens.push_back(ToJson(ratio));
    call.values["tokens"] = std::move(tokens);
  }
};

struct ZeroingOptions {
  std::span<const float> bias;
  View<const float, 2> residual;
};
constexpr Field<ZeroingOptions> kZeroing[] = {
    field::Finite(field::TextFloats<&ZeroingOptions::bias>("bias", "D", "The bias of the output projection.")),
    field::TextFloats<&ZeroingOptions::residual>("residual", "T,D", "The layer's output is added to this."),
};

struct ValueZeroingQuestion : Summands {
  ZeroingOptions options;

  template <class Take>
  void Fields(const Take& take) {
    Summands::Fields(take);
    take(Part::kOption, kZeroing, options);
  }

  void Answer(AnalysisCall& call) { call.Answer(ValueZeroing(Layer(), options.bias, options.residual)); }
};

}  // namespace

extern const AnalysisKind kWeightedMapAnalysis = MakeAnalysis<WeightedMapQuestion>(
    "weighted_map",
    "Maps that count the values, too: A[i,j]·‖v_j‖, by default over max ‖v_j‖ of all keys that are not masked "
    "[H,T,S].",
    "weighted_map_options");

extern const AnalysisKind kLayerNormsAnalysis = MakeAnalysis<LayerNormsQuestion>(
    "layer_norms", "The norms of the layer's summands over all heads (Kobayashi et al. 2020, §4.1) [T,S].",
    "map_masks");

extern const AnalysisKind kMixingRatioAnalysis =
    MakeAnalysis<MixingRatioQuestion>("mixing_ratio",
                                      "The share of each token's vector that comes from other tokens, 0 to 1 "
                                      "(Kobayashi et al. 2021): { tokens: [value] }.",
                                      "mixing_options");

extern const AnalysisKind kValueZeroingAnalysis = MakeAnalysis<ValueZeroingQuestion>(
    "value_zeroing",
    "The amount by which each token's output turns when another one's value is zeroed, rows of sum 1 (Mohebbi et al. "
    "2023) [T,S].",
    "value_zeroing_options");

}  // namespace headlens
