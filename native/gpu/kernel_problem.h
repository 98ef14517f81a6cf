// SPDX-License-Identifier: Apache-2.0
/// An attention problem as kernels take it.
#ifndef HEADLENS_NATIVE_GPU_KERNEL_PROBLEM_H_
#define HEADLENS_NATIVE_GPU_KERNEL_PROBLEM_H_

#include "gpu/attention_plan.h"

namespace headlens::gpu {

/// The number that kernels have for a kind of normaliser.
int KernelNumber(NormalizerKind kind);

/// The problem of these rows of a pass. The places of tensors and the strides of masks are left 0.
/// `marks_hidden` asks for a mark on the weights behind which a value must not be looked at.
Problem Describe(const AttentionPlan& plan, const Pass& pass, const QueryRange& rows, bool marks_hidden);

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_KERNEL_PROBLEM_H_
