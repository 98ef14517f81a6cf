// SPDX-License-Identifier: Apache-2.0
/// The results of one run of a model over an input, from which maps, logits and explanations are computed.
#ifndef HEADLENS_SRC_MODELS_RUN_H_
#define HEADLENS_SRC_MODELS_RUN_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "headlens/attention_maps.h"
#include "models/pass.h"
#include "models/request.h"

namespace headlens::models {

/// A copy of rows [T, D] in the backend's memory.
DeviceTensor CopyOf(const Backend& backend, const DeviceTensor& rows);
/// The first `count` rows of `before`, and `rows` after them.
DeviceTensor Appended(const Backend& backend, const DeviceTensor& before, Index count, const DeviceTensor& rows);
/// A copy of the rows from `first` on.
DeviceTensor RowsFrom(const Backend& backend, const DeviceTensor& rows, Index first);

/// A layer of a run. Runs that differ only in later layers share it.
struct LayerRun {
  std::shared_ptr<const Request> request;  // whose masks the maps borrow
  DeviceTensor stream;                     // before the layer, when it is kept
  Kept kept;
  std::unique_ptr<const AttentionMaps> maps, cross_maps;
};

struct Run {
  Run(std::shared_ptr<const LoadedModel> of, const ModelInput& input, const AttendOptions& options);
  /// The same input with other options. Shares the layers of `base` that need not be computed again.
  Run(const Run& base, const AttendOptions& options);

  /// The number of tokens at the beginning whose rows are those of `before`, a run of the same model over another
  /// input: 0 unless all that is needed of them was kept, and fewer than there are tokens here.
  Index SharedTokens(const Run& before) const;

  const ModelInfo& info() const { return model->architecture.info; }
  Index length() const { return hidden.shape()[0]; }
  /// Throw kValue for a layer or head that does not exist.
  const LayerRun& At(Index layer) const;
  const AttentionMaps& MapsOf(Index layer, Index head) const;
  /// The same of the attention to the source. Throws kUnsupported when the model has no encoder.
  const AttentionMaps& CrossMapsOf(Index layer, Index head) const;
  /// The stream before layer `layer`, or after the last layer when it is the number of layers. Throws kOption when it
  /// was not kept.
  const DeviceTensor& StreamBefore(Index layer) const;
  /// Throws kOption when the parts were not kept.
  void RequireParts() const;

  /// The decoder's layers read this of an encoder's run: its stream after the final norm [S, D].
  DeviceTensor Output() const;
  /// The run over the source. Throws kUnsupported when the model has no encoder.
  const Run& Encoder() const;

  /// The elements of one of these tensors on the host, which are read back once.
  const Tensor& OnHost(const DeviceTensor& tensor) const;

  std::shared_ptr<const LoadedModel> model;
  std::shared_ptr<const Run> encoder;  // over the source, of an encoder–decoder
  DeviceTensor hidden;                 // before the first layer that is not there yet, or after the last one
  std::shared_ptr<const Request> request;
  std::vector<std::shared_ptr<const LayerRun>> layers;

 private:
  mutable std::mutex mutex_;
  mutable std::map<const DeviceTensor*, Tensor> on_host_;
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_RUN_H_
