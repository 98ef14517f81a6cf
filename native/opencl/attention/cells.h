// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_CELLS_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_CELLS_H_

#include <string>

#include "opencl/attention/pass.h"

namespace headlens::opencl {

/// A pass with its cells [heads, rows, S] in memory, which can compute every problem. Borrows the pass.
class CellPass {
 public:
  explicit CellPass(const DevicePass& on);

  /// Computes these rows, in pieces that fit into the memory for a step.
  void Run(const gpu::QueryRange& rows) const;

 private:
  /// The cells of some rows at each stage. A stage that is not asked for is null.
  struct Stages {
    Operand cells;
    Memory scaled, capped, biased, masked, dropout_mask, dropped, lse;
  };
  void RunBlock(const gpu::QueryRange& rows) const;
  Stages Allocate(const gpu::QueryRange& rows) const;
  bool AreInPlace() const;
  Operand Cells(const gpu::QueryRange& rows) const;
  Operand Dense(const Memory& cells, const gpu::QueryRange& rows) const;
  void Score(const gpu::QueryRange& rows, const Operand& cells) const;
  void Normalize(const gpu::QueryRange& rows, const Stages& stages) const;
  void Store(const gpu::QueryRange& rows, const Stages& stages) const;
  void StoreMean(const Memory& weights, const gpu::QueryRange& rows) const;
  void ClearSigns(const gpu::QueryRange& rows) const;
  void Blend(const Operand& weights, const gpu::QueryRange& rows) const;
  std::string Options(NormalizerKind kind) const;
  std::string RowOption() const;

  const DevicePass& on_;
  const gpu::AttentionPlan& plan_;
  Session& session_;
  Index heads_, keys_;
  bool values_finite_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_CELLS_H_
