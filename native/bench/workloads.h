// SPDX-License-Identifier: Apache-2.0
/// What is measured: workloads.json, which every benchmark of the project reads.
#ifndef HEADLENS_NATIVE_BENCH_WORKLOADS_H_
#define HEADLENS_NATIVE_BENCH_WORKLOADS_H_

#include <map>
#include <string>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::bench {

enum class Kind {
  kProduct,  ///< a linear layer without a bias: tokens × width times width × out
  kLayer,    ///< self-attention with projections and biases
  kCore,     ///< attention of given q, k and v
  kMap,      ///< one head's map out of queries and keys that a pass has left behind
  kModel,    ///< a pass of a whole model, and then the map of every head
  kDecode,   ///< a model's tokens one by one, each with its logits
};

/// A model of random numbers, or the one in `folder`.
struct ModelSpec {
  std::string folder;
  std::string config;                       ///< the text of its config.json
  std::map<std::string, Shape> parameters;  ///< every name with its shape
  Index layers = 0, heads = 0, width = 0, vocabulary = 0;
  DType weights = DType::kF32;  ///< of random parameters: kF32 or kBF16
  Index linear_parameters = 0;  ///< elements of all matrices that each token meets on its way to the last stream
};

/// One line of the benchmark. Sizes that a kind does not have are 0.
struct Row {
  std::string name;  ///< "bert/maps", "core2k"
  Kind kind = Kind::kLayer;
  bool maps = false, causal = false;
  Index batch = 1, tokens = 0, width = 0;                              // of layers; batch of cores too
  Index out = 0;                                                       // of products
  Index heads = 0, kv_heads = 0, queries = 0, keys = 0, head_dim = 0;  // of cores; `heads` of layers too
  DType keys_and_values = DType::kF32;                                 // of cores: kF32 or kBF16
  std::string conventions;                                             // of cores: a library's; empty: none
  Index pool = 0, rows = 0;                                            // of maps: pixels on each side, or how many rows
  ModelSpec model;

  /// Floating-point operations that the result needs: 8·B·T·D² for projections, 4·B·H·T·S·d for scores and blend, half
  /// of that when causal; 2·T per linear parameter of a model. Masked cells, softmax and norms count nothing.
  double operations() const;
  /// What a decoding step has to read at the least: keys and values, or a model's weights; what a core with maps has to
  /// write. 0 where arithmetic rules.
  double bytes() const;
};

/// All workloads in order; layers have a row with the maps of every head and one without.
std::vector<Row> Workloads();

/// What fills a data-centre GPU.
std::vector<Row> LargeWorkloads();

/// The same core problem at many lengths ("sweep/tokens/1000") and head widths ("sweep/head_dim/65"), and as libraries
/// have it ("sweep/conventions/torch-mha", to be held against "sweep/tokens/1024").
std::vector<Row> Sweeps();

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_WORKLOADS_H_
