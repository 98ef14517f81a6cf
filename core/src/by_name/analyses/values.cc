// SPDX-License-Identifier: Apache-2.0
/// What weights carry: maps that count the values, too. weights [H, T, S], values [G, S, dv], out_weight [D, H·dv], and
/// what AnalysisCall::Masks reads.
#include "base/checks.h"
#include "by_name/analyses/call.h"
#include "headlens/attribution.h"

namespace headlens {
namespace {

/// Values for each head: those of its group. [H, S, dv], and where they are kept when they had to be repeated.
View<const float, 3> PerHead(const View<const float, 3>& values, Index heads, Tensor& storage) {
  const Index groups = values.shape[0], size = values.shape[1] * values.shape[2];
  if (groups == heads) return values;
  if (groups < 1 || heads % groups != 0) {
    throw Error(ErrorCode::kShape, "values has shape " + ToString(SizesOf(values)) +
                                       ", expected a number of groups that divides the " + std::to_string(heads) +
                                       " heads of weights");
  }
  storage = Tensor({heads, values.shape[1], values.shape[2]});
  for (Index h = 0; h < heads; ++h) std::copy_n(values.at(h * groups / heads), size, storage.data() + h * size);
  return storage.view<3>();
}

struct Summands {
  Tensor storage;
  AttentionSummands layer;

  explicit Summands(AnalysisCall& call) {
    layer.weights = call.NeedMasked<3>("weights");
    layer.values = PerHead(call.NeedMasked<3>("values"), layer.weights.shape[0], storage);
    layer.out_weight = call.Need<2>("out_weight");
    layer.info = call.Masks();
  }
};

}  // namespace

/// Option normalize: divided by the largest norm (true, default), or not → [H, T, S]. With out_weight the norms are of
/// what heads write.
void AnswerWeightedMap(AnalysisCall& call) {
  const View<const float, 3> weights = call.NeedMasked<3>("weights");
  Tensor repeated;
  const View<const float, 3> values = PerHead(call.NeedMasked<3>("values"), weights.shape[0], repeated);
  const View<const float, 2> out_weight = call.Find<2>("out_weight");
  const bool normalize = call.options.Flag("normalize", true);
  const MapInfo info = call.Masks();
  call.options.RejectUnknown();
  Tensor maps({weights.shape[0], weights.shape[1], weights.shape[2]});
  float* to = maps.data();
  for (Index h = 0; h < weights.shape[0]; ++h) {
    View<const float, 2> carried = Slice(values, h);
    Tensor written;
    if (out_weight) {
      written = TransformedValues(carried, out_weight, h);
      carried = written.view<2>();
    }
    const Matrix map =
        normalize ? ValueWeighted(Slice(weights, h), carried, info) : WeightedNorms(Slice(weights, h), carried, info);
    for (const double value : map.values()) *to++ = static_cast<float>(value);
  }
  call.Answer(std::move(maps));
}

/// → [T, S].
void AnswerLayerNorms(AnalysisCall& call) {
  const Summands summands(call);
  call.options.RejectUnknown();
  call.Answer(LayerNorms(summands.layer));
}

/// residual [T, D], layer_norm [D], option layer_norm_eps → { tokens: [value] }.
void AnswerMixingRatio(AnalysisCall& call) {
  const Summands summands(call);
  MixingOptions options;
  options.residual = call.FindMasked<2>("residual");
  options.layer_norm = call.Vector("layer_norm");
  options.layer_norm_eps = call.options.Number("layer_norm_eps", options.layer_norm_eps);
  call.options.RejectUnknown();
  nlohmann::json tokens = nlohmann::json::array();
  for (const std::optional<double>& ratio : MixingRatio(summands.layer, options)) tokens.push_back(ToJson(ratio));
  call.values["tokens"] = std::move(tokens);
}

/// bias [D], residual [T, D] → [T, S].
void AnswerValueZeroing(AnalysisCall& call) {
  const Summands summands(call);
  call.options.RejectUnknown();
  call.Answer(ValueZeroing(summands.layer, call.Vector("bias"), call.FindMasked<2>("residual")));
}

}  // namespace headlens
