// SPDX-License-Identifier: Apache-2.0
/// The tensors that every kernel of attention takes beside queries, keys and values.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_INPUTS_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_INPUTS_H_

#include <string>

#include "gpu/packing.h"
#include "opencl/runtime/session.h"

namespace headlens::opencl {

/// Tensors with a number for each query, key or head, which a call copies to the device once. Null where the problem
/// has none.
struct CallInputs {
  CallInputs(Session& session, const AttentionProblem& problem);

  Memory padding, lengths, prefixes, global_tokens, query_documents, key_documents, sinks;
};

/// All inputs of a pass: those of the call, and those of the pass's own heads. Borrows all arguments of its
/// constructor.
class PassInputs {
 public:
  PassInputs(Session& session, const AttentionProblem& problem, const CallInputs& call, const gpu::Pass& pass);

  const Memory& sinks() const { return call_.sinks; }
  /// [heads]: null without a head mask.
  const Memory& head_mask() const { return head_mask_; }

  /// Launches a kernel of attention over these rows. All of them take the problem and its inputs first; `args` follow.
  template <class... Args>
  void Launch(gpu::Problem problem, const gpu::QueryRange& rows, const Source& source, const std::string& options,
              const char* kernel, const Grid& grid, const Args&... args) const {
    const Memory boolean = Cells(problem_.mask.boolean, rows, problem.boolean);
    const Memory additive = Cells(problem_.mask.additive, rows, problem.additive);
    session_.Launch(source, options, kernel, grid, problem, boolean, additive, call_.padding, call_.lengths,
                    call_.prefixes, call_.global_tokens, call_.query_documents, call_.key_documents, biases_,
                    call_.sinks, head_mask_, args...);
  }

 private:
  /// The part of a mask that the rows look at, and its strides; null without a mask.
  template <class T>
  Memory Cells(const View<const T, 4>& mask, const gpu::QueryRange& rows, gpu::CellStrides& strides) const {
    if (!mask) return {};
    const gpu::MaskCells<T> cells = gpu::CellsOf(mask, pass_, rows);
    strides = cells.strides;
    return session_.Upload(std::span<const T>(cells.values));
  }

  Session& session_;
  const AttentionProblem& problem_;
  const CallInputs& call_;
  const gpu::Pass& pass_;
  Memory biases_, head_mask_;
};

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_INPUTS_H_
