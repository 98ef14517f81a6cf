// SPDX-License-Identifier: Apache-2.0
/// One row of the benchmark, ready to be called.
#ifndef HEADLENS_NATIVE_BENCH_RUN_H_
#define HEADLENS_NATIVE_BENCH_RUN_H_

#include <memory>
#include <span>
#include <vector>

#include "bench/workloads.h"
#include "headlens/backend.h"
#include "headlens/model.h"

namespace headlens::bench {

/// Part of a call's results, to be held against other programs'.
struct Sample {
  std::vector<float>
      output;  ///< [B, rows, D] of layers, [rows, out] of products, [H, rows, d] of cores, logits of decoding at `rows`
  std::vector<float> maps;  ///< [B, H, rows, S]; [rows, columns] of one map
};

class Run {
 public:
  virtual ~Run() = default;

  /// One call as a user makes it: results are allocated anew, and are on the host when it returns. Inputs and
  /// parameters are where the backend computes.
  virtual void Call() = 0;

  /// Of the last call's results, for these queries. Throws Error kValue for one that is not there.
  virtual Sample Look(std::span<const Index> rows) const = 0;
};

/// A way to get a model's parameters that stand in a folder.
using LoadFolder = Model (*)(const std::string& folder, const Backend& backend);

/// The row with its inputs and parameters. `backend` must outlive it.
std::unique_ptr<Run> MakeRun(const Row& row, const Backend& backend, LoadFolder load);

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_RUN_H_
