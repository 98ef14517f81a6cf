// SPDX-License-Identifier: Apache-2.0
/// What runs of layers have in common: one of a layer's attentions, as its options and results are named.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_

#include "by_name/operations/past_keys.h"
#include "headlens/multihead.h"

namespace headlens {

/// How a layer calls the parameters of one of its attentions.
struct AttentionNames {
  Renames renames;
  bool over_memory = false;  ///< It is a decoder layer's attention over its memory.
};

/// One attention of a layer under way: what it is told, and where its results go. `results` and `options` must outlive
/// it.
struct LayerAttention {
  /// `prefix` stands before the names of results. `n` are the sizes of the call, past keys included; `new_keys` are the
  /// rows of the stages k and v, and keys that the layer appends are in `columns` and there.
  LayerAttention(OperationRun& run, Results& all, const char* prefix, const CallOptions& options,
                 const MultiheadConfig& config, const Sizes& n, const AttentionNames& names, Index columns,
                 Index new_keys);

  MultiheadInputs inputs;
  ResultSet set;
  MultiheadResults results;
};

/// `past_key` and `past_value` of a layer: [B, G, P, d], without B when its input has none.
PastKeys::ReadHeads LayerHeads(Arguments& args, bool batched);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_LAYER_H_
