// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_GPU_PRECISION_H_
#define HEADLENS_NATIVE_GPU_PRECISION_H_

namespace headlens::gpu {

/// The arithmetic of products and fused attention. With kTf32x3 a product has the accuracy of fp32 and is the sum of
/// three products of NVIDIA's matrix units, where the device has them. With kFp16 and kBf16 the device rounds queries,
/// keys and values of fused attention to 16 bits, and the operands of linear layers on matrix units too, where that
/// saves time. Keys and values that few queries look at, as in decoding, are rounded only where they live on the
/// device, and then stay there in 16 bits too. Sums are always fp32.
enum class Precision { kFp32, kTf32x3, kFp16, kBf16 };

/// Returns true when numbers of 16 bits take part.
constexpr bool HasHalves(Precision precision) { return precision == Precision::kFp16 || precision == Precision::kBf16; }

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_PRECISION_H_
