// SPDX-License-Identifier: Apache-2.0
/// The description that every family of models fills in from its config.json, and the places of its parameters. A new
/// family needs a file that defines a Family, and a line in model.cc.
#ifndef HEADLENS_SRC_MODELS_FAMILY_H_
#define HEADLENS_SRC_MODELS_FAMILY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"
#include "headlens/model.h"
#include "layers/block.h"
#include "models/rope.h"

namespace headlens::models {

struct Architecture {
  ModelInfo info;
  Index intermediate_size = 0;
  BlockForm block;
  std::optional<Rope> rope;
  float attention_scale = 1.0f;         // multiplies the scores before the softmax
  bool scale_by_inverse_layer = false;  // the scale is divided by the layer's number, from 1
  bool tied = false;                    // the table of tokens also gives the logits
  bool query_key_value_bias = false, output_bias = false, feed_forward_bias = false;
  Index labels = 0;  // of a classifier, when the weights contain one
};

struct Layer : Block {
  std::unique_ptr<LinearWeights> q, k, v, o;
};

/// The steps from the residual stream to the logits: the final norm, another layer (BERT only), and the decoder.
struct Head {
  std::unique_ptr<LinearWeights> transform;
  Norm transform_norm;
  std::unique_ptr<LinearWeights> decoder;  // absent: the table of tokens
  DeviceTensor bias;                       // of the decoder, when the table of tokens is it
  bool first_row_only = false;             // a classifier reads CLS
};

struct Parameters {
  std::unique_ptr<LinearWeights> tokens;    // [vocab, D]
  std::unique_ptr<LinearWeights> segments;  // [segments, D]
  std::unique_ptr<LinearWeights> patches;   // [D, channels · patch²]
  DeviceTensor cls;                         // [D]
  DeviceTensor positions;                   // [max_positions, D]
  Norm embedding_norm, final_norm;
  std::vector<Layer> layers;
  std::optional<Head> head;
};

struct LoadedModel {
  Architecture architecture;
  Parameters parameters;
  const Backend& backend;
  /// γ of the norms, which the host reads, too.
  std::vector<Tensor> attention_norms{};
  Tensor final_norm{};

  /// The weights that turn normalised rows into logits.
  const LinearWeights& decoder() const {
    return parameters.head->decoder ? *parameters.head->decoder : *parameters.tokens;
  }
};

struct Family {
  std::string_view name;
  std::vector<std::string_view> model_types;  // as in config.json
  Architecture (*parse)(const JsonField& config);
  Parameters (*load)(const Architecture& architecture, const StateDict& state, const Backend& backend);
};

/// The contents of a config.json.
struct ParsedConfig {
  const Family& family;
  Architecture architecture;
};

/// The parameters under `prefix` when `probe` exists there, otherwise without it: base models are saved without the
/// prefix.
inline StateDict UnderPrefix(const StateDict& state, const std::string& prefix, const std::string& probe) {
  return state.Has(prefix + probe) ? WithPrefix(state, prefix) : state;
}

/// Loads "<name>.weight" and, with `bias`, "<name>.bias".
inline Norm LoadNorm(const StateDict& state, const std::string& name, Index width, bool bias) {
  return {Parameter(state, name + ".weight", {width}), bias ? Parameter(state, name + ".bias", {width}) : Tensor()};
}

/// A size in config.json: a whole number of at least 1.
Index Size(const JsonField& field);
Index Size(const JsonField& field, Index fallback);

/// Checks that num_attention_heads fits hidden_size, and returns the heads' width.
Index HeadDim(const JsonField& config, const char* hidden_key, const char* heads_key);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_FAMILY_H_
