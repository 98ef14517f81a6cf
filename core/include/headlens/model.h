// SPDX-License-Identifier: Apache-2.0
/// Transformer models in Hugging Face's format, with the attention of every head.
#ifndef HEADLENS_MODEL_H_
#define HEADLENS_MODEL_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/attention.h"
#include "headlens/attention_maps.h"
#include "headlens/backend.h"
#include "headlens/state_dict.h"

namespace headlens {

namespace models {
struct LoadedModel;
struct ParsedConfig;
struct Run;
}  // namespace models

/// The sizes and kinds that config.json describes. A size is 0 where the model has none.
struct ModelInfo {
  std::string family;  ///< one of ModelFamilies()
  bool causal = true;  ///< a token looks only at itself and at earlier tokens
  Index layers = 0;
  /// Of an encoder–decoder, whose other sizes are its decoder's: the encoder's sizes, and the scale of its scores.
  Index encoder_layers = 0, encoder_heads = 0, encoder_head_dim = 0;
  float encoder_scale = 1.0f;
  Index start_token = 0;  ///< of an encoder–decoder: every target begins with this id
  Index heads = 0;
  Index kv_heads = 0;
  Index head_dim = 0;
  Index hidden_size = 0;
  Index max_positions = 0;  ///< the most tokens, or patches and the tokens before them together
  Index vocab_size = 0;     ///< 0 for models that read images
  Index segments = 0;       ///< kinds of segments (token types)
  /// [layers]: in a layer, a token looks only at this many latest tokens, itself included; 0: no limit. Empty when no
  /// layer has a limit.
  std::vector<Index> windows = {};
  /// [layers]: the number that multiplies q·k, which is 1 / √head_dim unless config.json says something else. That of a
  /// layer's cross-attention is the same. Empty before the weights are there.
  std::vector<float> scales = {};
  Index image_size = 0;  ///< pixels on either side; 0 for models that read text
  Index patch_size = 0;
  Index channels = 0;
  /// The names of an image's tokens before its patches: "CLS", "DIST" (distillation), "REG0" (registers), and so on.
  std::vector<std::string> prefix = {};
  Index logits = 0;  ///< width of the logits; 0 when the weights have no output layer
  /// The names of a classifier's logits, as id2label has them. Empty when it has none, and before the weights are
  /// there.
  std::vector<std::string> labels = {};
};

/// A family of models, and the kinds of models (model_type in config.json) that are read as it.
struct ModelFamily {
  std::string_view name;
  std::span<const std::string_view> model_types;
};
std::vector<ModelFamily> ModelFamilies();

/// A config.json that has been read: parsed once, for its sizes and for the model.
class ModelConfig {
 public:
  /// Reads the text of config.json. Throws kFormat when it is not a model's config, kUnsupported for a kind of model or
  /// a setting that headlens does not have (naming the key, its value and the known values), and kValue for sizes that
  /// do not fit.
  explicit ModelConfig(std::string_view text);

  const ModelInfo& info() const;

 private:
  friend class Model;
  std::shared_ptr<const models::ParsedConfig> parsed_;
};

/// The input of a model: tokens or an image. Borrowed for the call.
struct ModelInput {
  std::span<const std::int32_t> ids = {};       ///< [T]
  std::span<const std::int32_t> segments = {};  ///< [T], token types; empty: all 0
  std::span<const std::uint8_t> padding = {};   ///< [T]; nonzero: no query looks at this token; empty: no padding
  /// [S] tokens, which an encoder–decoder needs and others do not take: what its encoder reads. `ids` are then what its
  /// decoder reads, which has no padding. Nonzero in `source_padding` [S], which may be empty: no query looks there.
  std::span<const std::int32_t> source = {};
  std::span<const std::uint8_t> source_padding = {};
  View<const float, 3> image = {};  ///< [channels, image_size, image_size], prepared as in the model's training. Models
                                    ///< that resize their positions (DINOv2) also take smaller ones
};

/// One of the matrices of a layer's attention.
enum class Projection { kQuery, kKey, kValue, kOutput };

/// The vectors that stand in the place of a token's own.
enum class TokenReplacement {
  kZero,  ///< zeros (value zeroing, Mohebbi et al. 2023)
  kMean,  ///< the mean over all tokens that are not padding
};

/// Activation patching (Vig et al. 2020): row n of `outputs` [N, d] takes the place of a head's output, before the
/// output projection and after all other changes. Row n of `places` [N, 3] is that head's layer, its number, and the
/// token.
struct HeadPatches {
  View<const std::int32_t, 2> places = {};
  View<const float, 2> outputs = {};
};

/// Changes in a run of a model, and the tensors that are kept of it. Views are borrowed for the call.
struct AttendOptions {
  /// [layers, heads]: the weights of each head, and so its output, are multiplied by this factor; 0 removes the head.
  View<const float, 2> head_mask = {};
  /// [layers, heads] and [encoder_layers, encoder_heads]: the same for the heads of an encoder–decoder's
  /// cross-attention, and of its encoder.
  View<const float, 2> cross_head_mask = {}, encoder_head_mask = {};
  /// The value vectors of these tokens are replaced in layer `replaced_layer`, or in every layer when that is −1.
  std::span<const std::int32_t> replaced_tokens = {};
  TokenReplacement replacement = TokenReplacement::kZero;
  Index replaced_layer = -1;
  /// Takes the place of the model's normaliser in every head.
  Normalizer normalizer = {};
  /// [1, H, T, T], where a broadcast dimension has stride 0: a query looks only at keys whose cell is nonzero, in every
  /// layer, and only at those that the model lets it look at.
  View<const std::uint8_t, 4> visible = {};
  /// [1, H, T, T]: added to the scores of every layer. NaN and +∞ are not allowed.
  View<const float, 4> bias = {};
  /// A query at position i does not look at key j when i − j is one of these numbers, in every layer.
  std::span<const std::int32_t> forbidden_diagonals = {};
  /// Outputs of heads that are replaced. Those of an encoder–decoder's cross-attention and of its encoder, whose tokens
  /// are the source's, are apart.
  HeadPatches patches = {}, cross_patches = {}, encoder_patches = {};

  bool keep_hidden = false;  ///< keep the residual stream before every layer for Hidden(layer)
  bool keep_values = false;  ///< keep the values for Values(layer)
  /// Keep what every head and every feed-forward network writes, for HeadOutputs(layer), for FeedForwards(layer) and
  /// for the functions of explanation.h. The residual streams are kept, too.
  bool keep_parts = false;
};

/// The attentions of an encoder–decoder. All other models have one, which takes the place of the decoder's.
enum class AttentionPart {
  kDecoder,  ///< the attention of the decoder's tokens to one another
  kEncoder,  ///< that of the source's tokens
  kCross,    ///< that of the decoder's tokens (rows) to the source's (columns)
};

class Model;
class ModelAttention;

/// A run of a model that goes on piece by piece, so that it can be left between two pieces. What is computed is, bit
/// for bit, what Model::Attend gives. Shares ownership of the model's weights.
class AttendSteps {
 public:
  /// The size of pieces for a run that nobody wants to leave: as large as the backend likes them.
  static constexpr Index kWhole = std::numeric_limits<Index>::max();
  /// The usual size, for a run between whose pieces others have their turn.
  static constexpr Index kPiece = Index{1} << 28;

  AttendSteps(AttendSteps&&) noexcept;
  AttendSteps& operator=(AttendSteps&&) noexcept;
  ~AttendSteps();

  /// Runs the next piece, and returns the share of the pieces that are done then, which rises to 1. At 1 it does
  /// nothing. When it throws, the run cannot go on.
  double Next();
  /// Runs what is left, and returns the result.
  ModelAttention Finish() &&;

 private:
  friend class Model;
  friend class ModelAttention;
  struct State;
  explicit AttendSteps(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  double done_ = 0.0;
};

/// The result of running a model once. It keeps the queries and keys of every layer, so the map of any head can be
/// computed when it is needed; maps themselves are not kept. Shares ownership of the model's weights.
class ModelAttention {
 public:
  ModelAttention(ModelAttention&&) noexcept;
  ModelAttention& operator=(ModelAttention&&) noexcept;
  ~ModelAttention();

  /// T: the number of tokens, or of patches and the tokens before them together.
  Index length() const;

  /// The maps of a layer's heads, which are those of batch 0. Borrowed. Throws kValue for a layer that does not exist,
  /// and kUnsupported for a part that the model does not have.
  const AttentionMaps& Maps(Index layer, AttentionPart part = AttentionPart::kDecoder) const;

  /// Computes the attention weights of a part of one head's map into `weights` [rows, columns]. Throws kValue for a
  /// layer, head or part that does not exist.
  void Map(Index layer, Index head, const MapWindow& window, DeviceView<float, 2> weights) const;

  /// Computes the part as a smaller map `pooled`, as AttentionMaps::Pooled does.
  void PooledMap(Index layer, Index head, const MapWindow& window, PoolKind kind, DeviceView<float, 2> pooled) const;

  /// The run of an encoder–decoder's encoder over the source. It shares ownership. Throws kUnsupported for other
  /// models.
  ModelAttention Encoder() const;

  /// The summaries of rows [row_begin, row_end) of one head's map.
  std::vector<RowSummary> RowSummaries(Index layer, Index head, Index row_begin, Index row_end) const;

  /// The residual stream [T, hidden_size] after the last layer, before the final norm when there is one.
  const Tensor& hidden() const;
  /// The residual stream before layer `layer`. Needs keep_hidden.
  const Tensor& Hidden(Index layer) const;
  /// The heads' outputs [T, H·d] before the output projection. Needs keep_parts.
  const Tensor& HeadOutputs(Index layer, AttentionPart part = AttentionPart::kDecoder) const;
  /// The outputs [T, hidden_size] of a layer's feed-forward network, with its bias. Needs keep_parts.
  const Tensor& FeedForwards(Index layer) const;
  /// Queries [T, H·d] and keys [S, G·d], after rotation in models with rotary positions. S is T, or the number of the
  /// source's tokens in a cross-attention, which has H = G. Both are that number in an encoder.
  const Tensor& Queries(Index layer, AttentionPart part = AttentionPart::kDecoder) const;
  const Tensor& Keys(Index layer, AttentionPart part = AttentionPart::kDecoder) const;
  /// Values [S, G·d]. Needs keep_values.
  const Tensor& Values(Index layer, AttentionPart part = AttentionPart::kDecoder) const;

  /// Computes the logits of rows [row_begin, row_end): [rows, logits]. A classifier of images has only one row, that of
  /// CLS. Throws kUnsupported when the model has no output layer.
  Tensor Logits(Index row_begin, Index row_end) const;
  Tensor Logits() const;

  /// Runs the same input with other options. Layers before the first one that they change are not computed again but
  /// shared, when this run has kept the stream before that layer (keep_hidden) and everything that they ask to keep.
  /// Bit for bit, the result is that of Model::Attend. Throws as Model::Attend.
  ModelAttention Again(const AttendOptions& options) const;
  AttendSteps StartAgain(const AttendOptions& options, Index piece = AttendSteps::kPiece) const;

  /// Runs the model on another input, which may begin with the same tokens. In a causal model what comes of these is
  /// copied from this run, if it has kept its values (keep_values) and everything that `options` ask to keep, which may
  /// not be parts, and if both runs change the same heads' factors and normaliser, and nothing else. The numbers are
  /// those of Model::Attend up to rounding. Throws as Model::Attend.
  ModelAttention Attend(const ModelInput& input, const AttendOptions& options = {}) const;
  AttendSteps StartAttending(const ModelInput& input, const AttendOptions& options = {},
                             Index piece = AttendSteps::kPiece) const;

  /// The model that was run.
  Model model() const;
  /// The run itself, for the functions of explanation.h.
  const models::Run& run() const { return *run_; }

 private:
  friend class AttendSteps;
  explicit ModelAttention(std::shared_ptr<const models::Run> run);
  std::shared_ptr<const models::Run> run_;
};

/// A text that is run step by step. The keys and values of earlier tokens are kept, so each step computes only its own
/// tokens, and the numbers are those of one pass over the whole text. Shares ownership of the model's weights.
class Decoding {
 public:
  Decoding(Decoding&&) noexcept;
  Decoding& operator=(Decoding&&) noexcept;
  ~Decoding();

  /// Runs the model on the next tokens, one or several (a prefill). Throws as Model::Attend does, and kUnsupported
  /// where the rotary angles of the keys that are kept would change (RoPE scaling "dynamic", beyond the length of the
  /// training). When it fails after it has begun, all tokens are forgotten.
  void Step(std::span<const std::int32_t> ids);

  Index length() const;     ///< the number of tokens so far
  Index rows() const;       ///< the number of tokens of the last step; 0 before the first
  Index first_key() const;  ///< the first token that is still kept; columns of maps are [first_key, length)

  /// Computes the attention weights of one head in the last step into `weights` [rows, length − first_key]. Throws as
  /// ModelAttention::Map does, and kOption before the first step.
  void Map(Index layer, Index head, DeviceView<float, 2> weights) const;
  /// The number of the source's tokens; 0 for models without an encoder.
  Index source_length() const;
  /// The same for the attention to the source [rows, source tokens], of encoder–decoders alone.
  void CrossMap(Index layer, Index head, DeviceView<float, 2> weights) const;

  /// Computes the logits of rows [row_begin, row_end) of the last step: [rows, vocab_size].
  Tensor Logits(Index row_begin, Index row_end) const;

  /// Forgets all tokens.
  void Reset();

 private:
  friend class Model;
  struct State;
  explicit Decoding(std::unique_ptr<State> state);
  void RunLayers(const DeviceTensor& hidden);
  void RequireStep(Index layer, Index head) const;

  std::unique_ptr<State> state_;
};

class Model {
 public:
  /// Takes and packs the parameters under their Hugging Face names. `backend` must outlive the model. Throws kShape for
  /// a parameter that is missing or has another shape.
  Model(const ModelConfig& config, const StateDict& state, const Backend& backend);
  /// The same from the text of config.json. Throws as ModelConfig, too.
  Model(std::string_view config, const StateDict& state, const Backend& backend)
      : Model(ModelConfig(config), state, backend) {}

  const ModelInfo& info() const;
  const Backend& backend() const;
  /// The encoder of an encoder–decoder, as a model that reads sources and has no logits; nothing for other models.
  std::optional<Model> encoder() const;

  /// Runs the model. Throws kValue for no tokens, too many, one outside the vocabulary, or an image where the model
  /// reads tokens (and the other way around); kShape for an image or mask of another shape.
  ModelAttention Attend(const ModelInput& input, const AttendOptions& options = {}) const;
  ModelAttention Attend(std::span<const std::int32_t> ids) const;

  /// Starts the same run, without its layers, which AttendSteps::Next runs piece by piece. A piece has about `piece`
  /// multiply-adds: at least 16 rows of a matrix product, or one key/value head's attention. Throws as Attend, and
  /// kValue for a piece below 1.
  AttendSteps StartAttending(const ModelInput& input, const AttendOptions& options = {},
                             Index piece = AttendSteps::kPiece) const;

  /// Starts a text that is run step by step, whose keys and values are kept in F32 or BF16 (see KvCache). Throws
  /// kUnsupported for models that are not causal. An encoder–decoder reads its `source` now, whose keys and values are
  /// computed once. The head masks and the normaliser of `options` hold for all steps, and are copied. Throws
  /// kUnsupported for other changes in them, which are of a whole text.
  Decoding StartDecoding(DType keys_and_values = DType::kF32, const ModelInput& source = {},
                         const AttendOptions& options = {}) const;

  /// A copy of one of a layer's matrices: query [H·d, D], key and value [G·d, D], or output [D, H·d]. Where a norm
  /// follows the projection, its scale is folded in.
  Tensor Weights(Index layer, Projection projection) const;
  /// The bias [D] of a layer's output projection, or empty when it has none. Borrowed.
  std::span<const float> OutputBias(Index layer) const;
  /// The scale γ [D] of the norm between the residual stream and a layer's attention; null when there is no norm.
  const Tensor* AttentionNorm(Index layer) const;
  /// The scale γ [D] of the norm between the last layer and the logits; null when there is none.
  const Tensor* FinalNorm() const;
  /// The table of token embeddings [vocab_size, D]; null for models that read images.
  const LinearWeights* embedding() const;
  /// The matrix [logits, D] that makes the logits; null without logits, or when there is another matrix before it.
  const LinearWeights* unembedding() const;

 private:
  friend class ModelAttention;
  explicit Model(std::shared_ptr<const models::LoadedModel> model) : model_(std::move(model)) {}

  std::shared_ptr<const models::LoadedModel> model_;
};

/// Reads the sizes in a config.json without any weights. Throws as ModelConfig does.
inline ModelInfo ReadModelInfo(std::string_view config) { return ModelConfig(config).info(); }

}  // namespace headlens

#endif  // HEADLENS_MODEL_H_
