// SPDX-License-Identifier: Apache-2.0
/// How layers combine. weights [L, H, T, T], and what AnalysisCall::Masks reads → [T, T].
#include "by_name/analyses/call.h"
#include "headlens/attribution.h"

namespace headlens {

/// Options fusion, discard_ratio, start_layer.
void AnswerRollout(AnalysisCall& call) {
  const View<const float, 4> weights = call.NeedMasked<4>("weights");
  RolloutOptions options;
  options.fusion = call.Fusion();
  options.discard_ratio = call.options.Number("discard_ratio", 0.0);
  options.start_layer = call.options.Count("start_layer", 0, 0);
  options.info = call.Masks();
  call.options.RejectUnknown();
  Rollout rollout(options);
  for (Index layer = 0; layer < weights.shape[0]; ++layer) {
    rollout.Add(Slice(weights, layer));
  }
  call.Answer(rollout.result());
}

/// Options fusion, discard_ratio, max_tokens.
void AnswerFlow(AnalysisCall& call) {
  const View<const float, 4> weights = call.NeedMasked<4>("weights");
  FlowOptions options;
  options.fusion = call.Fusion();
  options.discard_ratio = call.options.Number("discard_ratio", 0.0);
  options.max_tokens = call.options.Count("max_tokens", options.max_tokens, 1);
  options.info = call.Masks();
  call.options.RejectUnknown();
  if (const std::optional<Matrix> flow = AttentionFlow(weights, options)) call.Answer(*flow);
}

}  // namespace headlens
