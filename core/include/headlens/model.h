// SPDX-License-Identifier: Apache-2.0
/// Models out of Hugging Face folders, of every family that is known here, with the attention of every head in reach.
#ifndef HEADLENS_MODEL_H_
#define HEADLENS_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/state_dict.h"

namespace headlens {

namespace models {
struct LoadedModel;
}

/// What config.json says. A size is 0 where a model has no such thing.
struct ModelInfo {
  std::string family;  ///< "bert", "gpt2", "llama" or "vit"
  bool causal = true;  ///< a token looks only at itself and at what came before
  Index layers = 0;
  Index heads = 0;
  Index kv_heads = 0;
  Index head_dim = 0;
  Index hidden_size = 0;
  Index max_positions = 0;  ///< most tokens, or patches and CLS together
  Index vocab_size = 0;     ///< of models that read tokens
  Index segments = 0;       ///< kinds of segments (token types)
  Index window = 0;         ///< a token looks at the last `window` ones only, itself included
  Index image_size = 0;     ///< pixels, both sides; of models that read images
  Index patch_size = 0;
  Index channels = 0;
  Index logits = 0;  ///< width of the logits; 0: the weights have no head for any
};

/// What a model reads: tokens or an image. Borrowed for the call.
struct ModelInput {
  std::span<const std::int32_t> ids = {};       ///< [T]
  std::span<const std::int32_t> segments = {};  ///< [T] token types; empty: all 0
  std::span<const std::uint8_t> padding = {};   ///< [T], nonzero: nobody looks at this token; empty: none
  View<const float, 3> image = {};              ///< [channels, image_size, image_size], as the model was trained on
};

/// A matrix of a layer.
enum class Projection { kQuery, kKey, kValue, kOutput };

struct AttendOptions {
  /// [layers, heads]: multiplies each head's weights, and so its output; 0 ablates the head.
  View<const float, 2> head_mask;
  /// Value zeroing (Mohebbi et al. 2023): in `zeroed_layer` (−1: in every one) the value vectors of this token are 0.
  /// −1: of none.
  Index zeroed_token = -1;
  Index zeroed_layer = -1;
  bool keep_hidden = false;  ///< the stream before every layer, for Hidden(layer)
  bool keep_values = false;  ///< for Values(layer)
};

/// One pass: queries and keys of every layer are kept, so that any head's map can be computed when it is looked at;
/// maps never are. Shares the model with its owner.
class ModelAttention {
 public:
  ModelAttention(ModelAttention&&) noexcept;
  ModelAttention& operator=(ModelAttention&&) noexcept;
  ~ModelAttention();

  /// T: tokens, or patches and CLS together.
  Index length() const;

  /// Attention weights of one head, query rows [row_begin, row_end), into `weights` [rows, T].
  /// Throws kValue for a layer, head or row that is not there.
  void Map(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> weights) const;

  /// Rows [row_begin, row_end) of the map averaged over equal blocks (equal to within one cell) down to `pooled` [rows,
  /// cols]. Needs memory for some rows only.
  void PooledMap(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> pooled) const;

  /// The residual stream after the last layer, before a final norm where there is one: [T, hidden].
  const Tensor& hidden() const;
  /// The stream before layer `layer`; needs keep_hidden.
  const Tensor& Hidden(Index layer) const;
  /// [T, H·d] and [T, G·d], rotated where the model rotates.
  const Tensor& Queries(Index layer) const;
  const Tensor& Keys(Index layer) const;
  /// [T, G·d]; needs keep_values.
  const Tensor& Values(Index layer) const;

  /// Scores of the vocabulary for rows [row_begin, row_end): [rows, logits]; a classifier of images has the one row of
  /// CLS. Computed now. Throws kUnsupported when the model has no head for them.
  Tensor Logits(Index row_begin, Index row_end) const;
  Tensor Logits() const;

 private:
  friend class Model;
  struct State;
  explicit ModelAttention(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A text that grows: the keys and values so far are kept, and each step computes its own tokens only. Gives the
/// numbers of one pass over everything. Shares the model with its owner.
class Decoding {
 public:
  Decoding(Decoding&&) noexcept;
  Decoding& operator=(Decoding&&) noexcept;
  ~Decoding();

  /// Runs the model on the tokens that come next: one, or many at once (a prefill). Throws as Model::Attend, and
  /// kUnsupported where rotary angles would change under the keys that are kept ("dynamic" beyond its training). When
  /// it fails on the way, all tokens are forgotten.
  void Step(std::span<const std::int32_t> ids);

  Index length() const;     ///< tokens so far
  Index rows() const;       ///< tokens of the last step; 0 before the first
  Index first_key() const;  ///< the first token that is still kept: maps' columns are [first_key, length)

  /// Attention weights of one head in the last step, into `weights` [rows, length − first_key]. Throws as
  /// ModelAttention::Map, and kOption before the first step.
  void Map(Index layer, Index head, View<float, 2> weights) const;

  /// Of rows [row_begin, row_end) of the last step: [rows, vocab].
  Tensor Logits(Index row_begin, Index row_end) const;

  /// Forgets all tokens.
  void Reset();

 private:
  friend class Model;
  struct State;
  explicit Decoding(std::unique_ptr<State> state);
  void RunLayers(Tensor& hidden);

  std::unique_ptr<State> state_;
};

class Model {
 public:
  /// Reads the text of config.json, then takes and packs the parameters under their Hugging Face names. `backend` must
  /// outlive the model. Throws kFormat for what is no config, kUnsupported for a kind of model or a setting that is not
  /// offered (naming the key, its value and what is), kValue for sizes that do not fit, kShape for a parameter that is
  /// missing or has another shape.
  Model(std::string_view config, const StateDict& state, const Backend& backend);

  const ModelInfo& info() const;
  const Backend& backend() const;

  /// Runs the model. Throws kValue for no or too many tokens, one outside the vocabulary, or input of another kind than
  /// the model reads; kShape for an image or mask of another shape.
  ModelAttention Attend(const ModelInput& input, const AttendOptions& options = {}) const;
  ModelAttention Attend(std::span<const std::int32_t> ids) const;

  /// A text to be run step by step, whose keys and values are kept in F32 or BF16 (KvCache). Throws kUnsupported for
  /// models that are not causal.
  Decoding StartDecoding(DType keys_and_values = DType::kF32) const;

  /// A layer's weights, for what is read out of weights alone: [H·d, D], [G·d, D] twice, [D, H·d].
  Tensor Weights(Index layer, Projection projection) const;
  /// The bias of a layer's output projection, [D]; empty where it has none. Borrowed.
  std::span<const float> OutputBias(Index layer) const;
  /// γ [D] of the norm that a layer's attention reads the stream through; nothing when it reads the stream itself.
  const Tensor* AttentionNorm(Index layer) const;
  /// γ [D] of the norm between the last layer and the logits; nothing where there is none.
  const Tensor* FinalNorm() const;
  /// The table of tokens, [vocab, D]; nothing for models that read no tokens.
  const LinearWeights* embedding() const;
  /// [logits, D]; nothing without logits, or with more than one matrix between the stream and them.
  const LinearWeights* unembedding() const;

 private:
  std::shared_ptr<const models::LoadedModel> model_;
};

/// The sizes in a config.json, without weights. Throws as Model.
ModelInfo ReadModelInfo(std::string_view config);

}  // namespace headlens

#endif  // HEADLENS_MODEL_H_
