// SPDX-License-Identifier: Apache-2.0
/// The workloads of workloads.json, which this program and tests/bench measure. A test keeps the page's own list the
/// same.
#ifndef HEADLENS_NATIVE_BENCH_WORKLOADS_H_
#define HEADLENS_NATIVE_BENCH_WORKLOADS_H_

#include <map>
#include <string>
#include <vector>

#include "headlens/tensor.h"
#include "nlohmann/json_fwd.hpp"

namespace headlens::bench {

enum class Kind {
  kProduct,  ///< a linear layer without a bias: tokens × width times width × out
  kLayer,    ///< self-attention with projections and biases
  kCore,     ///< attention of given q, k and v
  kMap,      ///< the map of one head, from the queries and keys of an earlier pass
  kModel,    ///< a pass of a whole model, then the maps of all heads
  kDecode,   ///< a model's tokens one by one, with the logits of each
  kExplain,  ///< one of the functions of explanation.h, in the model's last layer
  kAgain,    ///< a run again with one head silenced, or a whole run
};

/// A model with random parameters, or the one in `folder`.
struct ModelSpec {
  std::string folder;
  std::string config;                       ///< the text of its config.json
  std::map<std::string, Shape> parameters;  ///< every name with its shape
  Index layers = 0, heads = 0, width = 0, vocabulary = 0;
  DType weights = DType::kF32;  ///< type of random parameters: kF32 or kBF16
  Index linear_parameters = 0;  ///< elements of all matrices between a token and the last residual stream
};

/// One row of the benchmark. Sizes that do not apply to its kind are 0.
struct Row {
  std::string name;  ///< for example "bert/maps" or "core2k"
  Kind kind = Kind::kLayer;
  bool maps = false, causal = false;
  Index batch = 1, tokens = 0, width = 0;                              // of layers; `batch` also of cores
  Index out = 0;                                                       // of products
  Index heads = 0, kv_heads = 0, queries = 0, keys = 0, head_dim = 0;  // of cores; `heads` of layers too
  DType keys_and_values = DType::kF32;                                 // of cores: kF32 or kBF16
  std::string conventions;                                             // of cores: the library's name; empty: none
  Index pool = 0, rows = 0;                                            // of maps: pixels per side, or number of rows
  std::string question;                                                // of explanations: "cell", "row", …
  Index silenced_layer = -1;                                           // of runs again; −1: a whole run
  ModelSpec model;

  /// The number of floating-point operations that the result needs: 8·B·T·D² for projections, 4·B·H·T·S·d for scores
  /// and weighted values, half of that when causal, and 2·T for each linear parameter of a model. Masked cells, softmax
  /// and norms do not count. 0 for explanations, which
  /// are stated as times.
  double operations() const;
  /// The bytes that must at least be read in a decoding step (keys and values, or a model's weights), or written for a
  /// core with maps. 0 when arithmetic limits the speed.
  double bytes() const;
};

/// The row's name, kind, operations, bytes and sizes, for programs that measure the same with another library. The row
/// of a model also has the model's sizes, and its config.json where its parameters are random.
nlohmann::json Described(const Row& row);

/// All workloads in order. Layers have one row with the maps of all heads and one without.
std::vector<Row> Workloads();

/// Explanations of runs, and runs again with a head silenced.
std::vector<Row> Explanations();

/// Workloads that are large enough for a data-centre GPU.
std::vector<Row> LargeWorkloads();

/// The same attention problem with many lengths ("sweep/tokens/1000"), head widths ("sweep/head_dim/65") and
/// conventions ("sweep/conventions/torch-mha", to compare with "sweep/tokens/1024").
std::vector<Row> Sweeps();

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_WORKLOADS_H_
