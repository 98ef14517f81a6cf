// SPDX-License-Identifier: Apache-2.0
#include "attention/stages.h"

namespace headlens {

std::span<const Stage> Stages() {
  using R = AttentionResults;
  static constexpr Stage kStages[] = {
      {"q", "B,H,T,d", "Queries, after projection, bias and rotation."},
      {"k", "B,G,S,d", "Keys of this call, after projection, bias and rotation."},
      {"v", "B,G,S,dv", "Values of this call, after projection and bias."},
      {"scores", "B,H,T,S", "Products of queries and keys.", &R::scores},
      {"scaled_scores", "B,H,T,S", "Scores times the scale.", &R::scaled_scores},
      {"capped_scores", "B,H,T,S", "Scores after the soft cap.", &R::capped_scores},
      {"biased_scores", "B,H,T,S", "Scores plus position biases and additive masks.", &R::biased_scores},
      {"masked_scores", "B,H,T,S", "Scores with −∞ where a key is masked.", &R::masked_scores},
      {"weights", "B,H,T,S", "Weights of each head, before dropout."},
      {"dropout_mask", "B,H,T,S", "1 where dropout keeps a weight, 0 where it drops it.", &R::dropout_mask},
      {"dropped_weights", "B,H,T,S", "Weights after dropout and head mask, which multiply the values.",
       &R::dropped_weights},
      {"lse", "B,H,T", "ln Σ exp of each row's masked scores, divided by the temperature."},
      {"head_outputs", "B,H,T,dv", "The output of each head."},
      {"head_contributions", "B,H,T,D",
       "The part of the output that each head adds, without the output's bias; for layers only."},
      {.name = "present_key", .dims = "B,G,S,d", .doc = "All keys, with the past ones.", .of_memory = false},
      {.name = "present_value", .dims = "B,G,S,dv", .doc = "All values, with the past ones.", .of_memory = false},
  };
  return kStages;
}

}  // namespace headlens
