// SPDX-License-Identifier: Apache-2.0
#include "models/families/gpt2_parts.h"

namespace headlens::models {

Parameters LoadGpt2(const Architecture& a, const StateDict& state, const Backend& backend, LayerLoader load_layer) {
  const ModelInfo& info = a.info;
  const StateDict base = UnderPrefix(state, "transformer.", "wte.weight");
  Parameters p;
  p.tokens = LinearParameter(backend, base, "wte", info.vocab_size, info.hidden_size, false);
  p.positions = Parameter(base, "wpe.weight", {info.max_positions, info.hidden_size});
  p.layers = LoadLayers(a, base, "h.", backend, load_layer);
  p.final_norm = LoadNorm(base, "ln_f", info.hidden_size, true);
  p.head.emplace();
  if (!a.tied) p.head->decoder = LinearParameter(backend, state, "lm_head", info.vocab_size, info.hidden_size, false);
  return p;
}

}  // namespace headlens::models
