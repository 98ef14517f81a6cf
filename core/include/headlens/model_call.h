// SPDX-License-Identifier: Apache-2.0
/// The calls of models and of caches by name, for callers who have named tensors and JSON, such as the npm package.
#ifndef HEADLENS_MODEL_CALL_H_
#define HEADLENS_MODEL_CALL_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/model.h"
#include "headlens/problem.h"

namespace headlens {

/// The options of caches of keys and values.
struct CacheOptions {
  Index window = 0;
  DType dtype = DType::kF32;
};

/// The input of a model and the options of its run. It is given named tensors, and then its options.
class ModelCall {
 public:
  /// `length` is the number of tokens when the options are for another run of an input, which is then not given.
  explicit ModelCall(const ModelInfo& info, Index length = 0);
  ~ModelCall();
  ModelCall(ModelCall&&) noexcept;
  ModelCall& operator=(ModelCall&&) noexcept;

  /// Declares a tensor and returns its storage, dense and row-major, which the caller fills before Read: `ids`,
  /// `segments` and `padding_mask` [T], `source` and `source_padding_mask` [S], `image` [channels, height, width],
  /// `head_mask` and `cross_head_mask` [layers, heads], `encoder_head_mask` [encoder layers, encoder heads],
  /// `attn_mask` [T, T] or [heads, T, T], `sinks` [heads], `replaced_tokens` and `forbidden_diagonals`, and
  /// `patch_places` with `patch_outputs`, which exist with `cross_` and `encoder_` before their names, too. Throws
  /// kOption for another name.
  std::span<std::byte> Input(std::string_view name, DType dtype, const Shape& shape);

  /// Reads the tensors, and the other members of AttendOptions from a JSON object. Throws kOption for an option that is
  /// not known or that this model cannot have, and kShape or kDtype for a tensor that does not fit.
  void Read(std::string_view options = "{}");

  /// Reads the tensors that are the input, and no options.
  void ReadInput();

  /// Reads the source and the changes of a text that is run step by step, which are AttendOptions' head masks and
  /// normaliser, and how its keys and values are kept. Throws as Read.
  CacheOptions ReadDecoding(std::string_view options);

  /// The input and the options that were read. Borrowed from this call.
  const ModelInput& input() const;
  const AttendOptions& options() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the members of CacheOptions from a JSON object. Throws kOption for what is wrong. So do the other functions.
CacheOptions ReadCacheOptions(std::string_view options);

/// The options of ranking a model's heads.
struct RankOptions {
  AttentionPart attention = AttentionPart::kDecoder;
  std::vector<std::string> metrics;  ///< empty: those of FinderOptions
  bool ascending = false;
};

/// Names of metrics are looked up by the finder.
RankOptions ReadRankOptions(std::string_view options);

}  // namespace headlens

#endif  // HEADLENS_MODEL_CALL_H_
