// SPDX-License-Identifier: Apache-2.0
/// Helpers that the operations of layers share: one of a layer's attentions, with its named options and results.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_

#include "by_name/operations/past_keys.h"
#include "headlens/multihead.h"

namespace headlens {

/// The parameter names of one of a layer's attentions.
struct AttentionNames {
  Renames renames;
  bool over_memory = false;  ///< true for a decoder layer's attention over its memory
};

/// One attention of a layer during a run: its inputs and the places of its results. `results` and `options` must
/// outlive it.
struct LayerAttention {
  /// `prefix` goes before the names of results. `n` are the sizes of the call, with past keys. `new_keys` is the number
  /// of rows of the stages k and v. `columns` and `new_keys` include keys that the layer appends.
  LayerAttention(OperationRun& run, Results& all, const char* prefix, const CallOptions& options,
                 const MultiheadConfig& config, const Sizes& n, const AttentionNames& names, Index columns,
                 Index new_keys);

  MultiheadInputs inputs;
  ResultSet set;
  MultiheadResults results;
};

/// The tensors `past_key` and `past_value` of a layer: [B, G, P, d], without B when its input has none.
PastKeys::ReadHeads LayerHeads(Arguments& args, bool batched);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_
