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

/// Some rows of a call's results, for comparison with those of other programs.
struct Sample {
  std::vector<float>
      output;  ///< [B, rows, D] of layers, [rows, out] of products, [H, rows, d] of cores, logits of decoding at `rows`
  std::vector<float> maps;  ///< [B, H, rows, S]; [rows, columns] of one map
};

class Run {
 public:
  virtual ~Run() = default;

  /// One call. When it returns, its results are on the host, in memory that all calls share. Inputs and parameters are
  /// in the backend's memory.
  virtual void Call() = 0;

  /// These rows of the last call's results. Throws an Error kValue for a row that does not exist.
  virtual Sample Look(std::span<const Index> rows) const = 0;
};

/// A function that loads the model of a folder.
using LoadFolder = Model (*)(const std::string& folder, const Backend& backend);

/// Makes a row ready, with its inputs and parameters. `backend` must outlive it.
std::unique_ptr<Run> MakeRun(const Row& row, const Backend& backend, LoadFolder load);

}  // namespace headlens::bench

#endif  // HEADLENS_NATIVE_BENCH_RUN_H_
