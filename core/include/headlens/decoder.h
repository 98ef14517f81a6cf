// SPDX-License-Identifier: Apache-2.0
/// Decoder-only models in Hugging Face form (Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU), and
/// the maps of their heads.
#ifndef HEADLENS_DECODER_H_
#define HEADLENS_DECODER_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlens/backend.h"
#include "headlens/multihead.h"
#include "headlens/tensor.h"

namespace headlens {

struct DecoderConfig {
  Index vocab_size = 0;
  Index hidden_size = 0;
  Index intermediate_size = 0;
  Index layers = 0;
  Index heads = 0;
  Index kv_heads = 0;
  Index head_dim = 0;
  Index max_positions = 0;
  float rms_norm_eps = 1e-6f;
  double rope_theta = 10000.0;
  bool tie_word_embeddings = false;
};

/// Reads the text of a Llama-type config.json. Throws kFormat for what is not JSON or lacks a size, kUnsupported for
/// another kind of model, and kValue for sizes that are out of range or do not fit.
DecoderConfig ParseDecoderConfig(std::string_view json);

class Decoder;

/// One forward pass: queries and keys of every layer are kept, so any head's map can be computed when it is looked at.
/// Borrows the decoder, which must outlive it.
class DecoderAttention {
 public:
  Index length() const { return length_; }

  /// Attention weights of one head, query rows [row_begin, row_end), into `weights` [rows, T].
  /// Throws kValue for a layer, head or row that is not there.
  void Map(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> weights) const;

  /// Rows [row_begin, row_end) of the map averaged over equal blocks (equal to within one cell) down to `pooled` [rows,
  /// cols].
  void PooledMap(Index layer, Index head, Index row_begin, Index row_end, View<float, 2> pooled) const;

  /// The residual stream after the last layer, before the final norm: [T, hidden].
  const Tensor& hidden() const { return hidden_; }

  /// Next-token scores [T, vocab], computed now.
  Tensor Logits() const;

 private:
  friend class Decoder;
  struct Layer {
    Tensor q;  // [T, H·d], rotated
    Tensor k;  // [T, G·d], rotated
  };
  explicit DecoderAttention(const Decoder& decoder) : decoder_(&decoder) {}

  const Decoder* decoder_;
  Index length_ = 0;
  std::vector<Layer> layers_;
  Tensor hidden_;
};

class Decoder {
 public:
  /// Reads and packs the parameters under their Hugging Face names (`model.layers.0.self_attn.q_proj.weight`, …).
  /// `backend` must outlive the model. Throws kShape for a missing or wrong one.
  Decoder(const DecoderConfig& config, const StateDict& state, const Backend& backend);

  const DecoderConfig& config() const { return config_; }

  /// Runs the model on token ids. Throws kValue when there are none, more than max_positions, or one is not in the
  /// vocabulary.
  DecoderAttention Attend(std::span<const std::int32_t> ids) const;

 private:
  friend class DecoderAttention;
  struct Layer {
    Tensor input_norm, post_attention_norm;
    std::unique_ptr<LinearWeights> q, k, v, o, gate, up, down;
  };
  void RunLayer(const Layer& layer, const Tensor& cosine, const Tensor& sine, DecoderAttention::Layer& kept,
                Tensor& hidden) const;

  DecoderConfig config_;
  const Backend& backend_;
  Tensor embedding_;  // [vocab, hidden]
  std::vector<Layer> layers_;
  Tensor final_norm_;
  std::unique_ptr<LinearWeights> lm_head_;
};

}  // namespace headlens

#endif  // HEADLENS_DECODER_H_
