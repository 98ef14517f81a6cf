// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_PASS_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_PASS_H_

#include "gpu/kernel_problem.h"
#include "opencl/attention/inputs.h"
#include "opencl/matrix/operand.h"

namespace headlens::opencl {

/// Some groups of an attention problem on the device, from their keys and values to the results. Borrows the session,
/// the plan and the inputs of the call.
class DevicePass {
 public:
  DevicePass(Session& session, const gpu::AttentionPlan& plan, const CallInputs& call, gpu::Pass pass);
  DevicePass(const DevicePass&) = delete;
  DevicePass& operator=(const DevicePass&) = delete;

  Session& session() const { return session_; }
  const gpu::AttentionPlan& plan() const { return plan_; }
  const gpu::Pass& pass() const { return pass_; }
  const PassInputs& inputs() const { return inputs_; }

  /// The keys, and the values when an output is wanted, on the device: in their own buffers, or in copies.
  const Operand& k() const { return k_; }
  const Operand& v() const { return v_; }
  /// The queries of these rows, on the device likewise.
  Operand Queries(const gpu::QueryRange& rows) const;

  /// A place on the device for the output of these rows: its own, or one from which StoreOutput takes it.
  Operand Output(const gpu::QueryRange& rows) const;
  void StoreOutput(const Operand& output, const gpu::QueryRange& rows) const;
  /// Copies rows [heads, rows, width] to where the caller wants them, if at all.
  void Store(const Memory& from, const gpu::QueryRange& rows, Index width, const DeviceView<float, 4>& to) const;
  /// Copies ln Σ exp [heads, rows] to where the caller wants it, if at all.
  void StoreLse(const Memory& from, const gpu::QueryRange& rows) const;

  /// Sets `unusual` where the given keys or values are not all finite.
  void FindUnusual(const Operand& rows, Index width, const Memory& unusual) const;

 private:
  Operand Keys(const DeviceView<const float, 4>& view) const;

  Session& session_;
  const gpu::AttentionPlan& plan_;
  const gpu::Pass pass_;
  const PassInputs inputs_;
  Operand k_, v_;
};

/// A number on the device that kernels set when a result is unusual; and a look at it.
Memory NothingUnusual(Session& session);
bool IsUnusual(Session& session, const Memory& unusual);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_PASS_H_
