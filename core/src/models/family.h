// SPDX-License-Identifier: Apache-2.0
/// The description that every family of models fills in from its config.json, and the places of its parameters. A new
/// family needs a file that defines a Family, and a line in model.cc.
#ifndef HEADLENS_SRC_MODELS_FAMILY_H_
#define HEADLENS_SRC_MODELS_FAMILY_H_

#include <initializer_list>
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

/// The ways of image models with images of another size than that of their training.
enum class ImagePositionsKind {
  kFixed,   // it refuses them
  kCubic,   // it resizes its table of positions, without antialiasing
  kSmooth,  // or with antialiasing
};

struct Architecture {
  ModelInfo info;
  Index intermediate_size = 0;
  BlockForm block;
  std::optional<Rope> rope;
  std::optional<Rope> local_rope;       // of layers with a window, when theirs differs
  float attention_scale = 1.0f;         // multiplies the scores before the softmax
  bool scale_by_inverse_layer = false;  // the scale is divided by the layer's number, from 1
  float softcap = 0.0f;                 // of the scores: softcap · tanh(scores / softcap); 0: no cap
  float logit_softcap = 0.0f;           // likewise of the logits
  float embedding_scale = 1.0f;         // multiplies the embeddings of tokens
  Index padding_id = -1;                // positions are counted from 1 over tokens other than this one
  ImagePositionsKind positions = ImagePositionsKind::kFixed;
  /// Biases of scores by distance (T5): their number, and the distance from which on all have one.
  Index bias_buckets = 0, bias_max_distance = 128;
  bool divides_output = false;  // the stream is divided by √D before the logits
  bool tied = false;            // the table of tokens also gives the logits
  bool query_key_value_bias = false, output_bias = false, feed_forward_bias = false;
  Index labels = 0;                           // of a classifier, when the weights contain one
  std::vector<std::string> label_names = {};  // of all of them, or empty

  /// The number of tokens before an image's patches.
  Index Prefix() const { return std::ssize(info.prefix); }
  /// The number of latest tokens that layer `layer` looks at, or 0 for no limit.
  Index WindowOf(Index layer) const { return info.windows.empty() ? 0 : info.windows[static_cast<std::size_t>(layer)]; }
  /// The number that multiplies the scores of layer `layer`.
  float ScaleOf(Index layer) const {
    return scale_by_inverse_layer ? attention_scale / static_cast<float>(layer + 1) : attention_scale;
  }
  /// The rotary positions of layer `layer`, or null.
  const Rope* RopeOf(Index layer) const {
    if (local_rope && WindowOf(layer) > 0) return &*local_rope;
    return rope ? &*rope : nullptr;
  }
};

struct Layer : Block {
  std::unique_ptr<LinearWeights> q, k, v, o;
  /// Of queries and keys before their rotation: [d] for each head on its own, or [H · d] and [G · d] for all together.
  Norm query_norm, key_norm;
  /// Of the attention to the encoder's output, in decoders that have one.
  std::unique_ptr<LinearWeights> cross_q, cross_k, cross_v, cross_o;
};

/// The steps from the residual stream to the logits: the final norm, another layer (BERT only), and the decoder.
struct Head {
  std::unique_ptr<LinearWeights> transform;
  Norm transform_norm;
  std::unique_ptr<LinearWeights> decoder;  // absent: the table of tokens
  DeviceTensor bias;                       // of the decoder, when the table of tokens is it
  bool first_row_only = false;             // a classifier reads CLS
  /// A classifier may add the logits of `second` from the second token, or from the mean of the patches, and multiply
  /// the sum by `factor`.
  std::unique_ptr<LinearWeights> second;
  bool second_reads_mean = false;
  float factor = 1.0f;
};

struct Parameters {
  std::shared_ptr<LinearWeights> tokens;    // [vocab, D]; a decoder that has none shares its encoder's
  std::unique_ptr<LinearWeights> segments;  // [segments, D]
  std::unique_ptr<LinearWeights> patches;   // [D, channels · patch²]
  DeviceTensor prefix;                      // [prefix, D]
  DeviceTensor positions;                   // [max_positions, D]; those of patches follow those of the prefix
  Tensor position_bias;                     // [buckets, H]: of scores, by distance (T5), in every layer
  Norm embedding_norm, final_norm;
  std::vector<Layer> layers;
  std::optional<Head> head;
};

struct LoadedModel {
  Architecture architecture;
  Parameters parameters;
  const Backend& backend;
  /// γ of the norms, which the host reads, too.
  struct LayerScales {
    Tensor attention, query, key, output;
  };
  std::vector<LayerScales> scales{};
  Tensor final_norm{};
  /// Of an encoder–decoder, whose other members are the decoder's.
  std::shared_ptr<const LoadedModel> encoder{};

  /// The weights that turn normalised rows into logits.
  const LinearWeights& decoder() const {
    return parameters.head->decoder ? *parameters.head->decoder : *parameters.tokens;
  }
};

struct Family {
  std::string_view name;
  std::initializer_list<std::string_view> model_types;  // as in config.json
  Architecture (*parse)(const JsonField& config);
  Parameters (*load)(const Architecture& architecture, const StateDict& state, const Backend& backend);
  const Family* encoder = nullptr;  // reads the encoder of an encoder–decoder from the same files
};

/// The contents of a config.json.
struct ParsedConfig {
  const Family& family;
  Architecture architecture;
  std::optional<Architecture> encoder;
  bool is_quantized = false;  // matrices may be integers with scales
};

/// The parameters under `prefix` when `probe` exists there, otherwise without it: base models are saved without the
/// prefix.
StateDict UnderPrefix(const StateDict& state, std::string_view prefix, std::string_view probe);

/// Loads "<name>.weight" and, with `bias`, "<name>.bias". The oldest files call them gamma and beta.
Norm LoadNorm(const StateDict& state, std::string_view name, Index width, bool bias);

/// W x + b with each row of W and b multiplied by its element of `scale` [out].
std::unique_ptr<LinearWeights> ScaledLinear(const StateDict& state, std::string_view name, const Tensor& scale,
                                            Index in_features, const Backend& backend);

/// A size in config.json: a whole number of at least 1.
Index Size(const JsonField& field);
Index Size(const JsonField& config, std::string_view key);
Index Size(const JsonField& config, std::string_view key, Index fallback);

/// The names that a family's config.json has for its sizes.
struct SizeKeys {
  const char* hidden_size = "hidden_size";
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
};

/// Reads the sizes of a model in which each head has its own keys and values, and the scale of its scores, 1 / √d.
Architecture ParseSizes(const JsonField& config, const SizeKeys& keys = {});

/// Loads the layers, whose parameters are under `prefix` and their number.
using LayerLoader = Layer (*)(const Architecture& architecture, const StateDict& state, const Backend& backend);
std::vector<Layer> LoadLayers(const Architecture& architecture, const StateDict& state, std::string_view prefix,
                              const Backend& backend, LayerLoader load);

/// The names of the head of a masked language model: a layer, a norm, and the decoder with its bias.
struct MaskedHeadNames {
  const char *transform, *norm, *decoder, *bias;
};
Head LoadMaskedHead(const Architecture& architecture, const StateDict& state, const MaskedHeadNames& names,
                    const Backend& backend);

/// Reads an activation without a gate by the names that config.json has for it.
Activation ActivationOf(const JsonField& field, std::string_view fallback);

/// The windows of all layers: `window` where layer_types says "sliding_attention", or `windows` without layer_types.
/// Empty when no layer has one.
std::vector<Index> WindowsOf(const JsonField& config, Index window, std::vector<Index> windows);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_FAMILY_H_
