// SPDX-License-Identifier: Apache-2.0
/// The input and the options of a run, checked and copied.
#ifndef HEADLENS_SRC_MODELS_REQUEST_H_
#define HEADLENS_SRC_MODELS_REQUEST_H_

#include <vector>

#include "models/family.h"

namespace headlens::models {

/// A run's input and options, in memory of their own: maps borrow the masks as long as they live, and a run can be
/// repeated with other options.
class Request {
 public:
  /// Throws as Model::Attend does for wrong options. `length` is the number of tokens, or of patches and CLS.
  Request(const LoadedModel& model, const ModelInput& input, const AttendOptions& options, Index length);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  const ModelInput& input() const { return input_; }
  const AttendOptions& options() const { return options_; }
  /// Adds the options that change scores, masks and weights to a layer's problem.
  void Change(AttentionProblem& problem) const;
  /// The first layer that computes something else than in the run of `other`, which has the same input, or the number
  /// of layers when there is none.
  Index FirstDifference(const ModelInfo& info, const Request& other) const;
  /// Returns true when no option is about some tokens only.
  bool IsTheSameForAllTokens() const;
  /// Returns true when the encoder's run is that of the run of `other`, which has the same input.
  bool HasSameEncoder(const Request& other) const;

 private:
  /// Patches in memory of their own.
  struct OwnPatches {
    /// Copies patches, and returns the copy.
    HeadPatches Take(const HeadPatches& from);

    std::vector<std::int32_t> places;
    Tensor outputs;
  };

  std::vector<float> NumbersOf(const ModelInfo& info, Index layer) const;
  bool HasSameScores(const Request& other) const;
  void CopyInput(const ModelInput& input);
  void CopyOptions(const AttendOptions& options);
  void ForbidDiagonals(Index length);
  void DropWithoutEffect(const LoadedModel& model, Index length);

  ModelInput input_;
  AttendOptions options_;
  std::vector<std::int32_t> ids_, segments_, source_, replaced_, diagonals_;
  std::vector<std::uint8_t> padding_, source_padding_, visible_;
  Tensor image_, head_mask_, cross_head_mask_, encoder_head_mask_, bias_, sinks_;
  OwnPatches patches_, cross_patches_, encoder_patches_;
};

/// Returns true when the layer replaces the values of tokens.
bool ReplacesValues(const AttendOptions& options, Index layer);

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_REQUEST_H_
