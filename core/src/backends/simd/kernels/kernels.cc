// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/kernels/kernels.h"

#include <string>

#include "base/words.h"
#include "headlens/backend.h"

// Tiles are arrays of vectors, which targets with vectors of unknown length (SVE, RVV) do not support. Arm uses NEON.
#ifndef HWY_DISABLED_TARGETS  // a build may have fewer
#define HWY_DISABLED_TARGETS (HWY_ALL_SVE | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/simd/kernels/kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h; compiles this file again for each target
#include "hwy/highway.h"
// These must come after foreach_target.h, in this order.
#include "backends/simd/kernels/dropout-inl.h"
#include "backends/simd/kernels/gemm-inl.h"
#include "backends/simd/kernels/gemv-inl.h"
#include "backends/simd/kernels/layers-inl.h"
#include "backends/simd/kernels/marks-inl.h"
#include "backends/simd/kernels/normalize-inl.h"
#include "backends/simd/kernels/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlens::simd {
namespace HWY_NAMESPACE {

const Kernels* Table() {
  static const Kernels kTable = {
      .target = hwy::TargetName(HWY_TARGET),
      .panel_width = PanelWidth(),
      .tile_rows = kRows,
      .gemm = Gemm,
      .pack_rows = PackRows,
      .pack_columns = PackColumns,
      .dots = Dots,
      .blend = Blend,
      .scale = Scale,
      .softcap = Softcap,
      .add_bias = AddBias,
      .mask = MaskRow,
      .max = MaxOf,
      .exp_sum = ExpSum,
      .stream_row = HWY_ARCH_WASM ? nullptr : StreamRow,
      .flush_streams = hwy::FlushStream,
      .add_scaled = AddScaled,
      .all_finite = AllFinite,
      .any_nan = AnyNan,
      .first_max = FirstMax,
      .keep_largest = KeepLargest,
      .hinge_sums = SumHinges,
      .hinge = Hinge,
      .sigmoid = SigmoidRow,
      .drop = Drop,
      .mark_bytes = MarkCells<std::uint8_t>,
      .mark_ints = MarkCells<std::int32_t>,
      .mark_floats = MarkCells<float>,
      .mark_off_step = MarkOffStep,
      .mark_unless = MarkUnless,
      .rms_norm = RmsNorm,
      .layer_norm = LayerNorm,
      .rotate = Rotate,
      .rotate_interleaved = RotateInterleaved,
      .silu = Silu,
      .gelu_erf = GeluErf,
      .gelu_tanh = GeluTanh,
      .relu = Relu,
      .add = Add,
      .multiply = Multiply,
  };
  return &kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace headlens::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlens::simd {

HWY_EXPORT(Table);

const Kernels& BestKernels() { return *HWY_DYNAMIC_DISPATCH(Table)(); }

}  // namespace headlens::simd

namespace headlens {

std::vector<SimdTargetInfo> SimdTargets() {
  std::vector<SimdTargetInfo> targets;
  // Highway gives better targets lower bits.
  for (std::int64_t rest = HWY_TARGETS, bit = 0; rest != 0; rest &= ~bit) {
    bit = rest & -rest;
    targets.push_back({hwy::TargetName(bit), (hwy::SupportedTargets() & bit) != 0});
  }
  return targets;
}

void UseSimdTarget(std::string_view name) {
  hwy::DisableTargets(0);
  std::string known;
  for (std::int64_t rest = HWY_TARGETS & hwy::SupportedTargets(), bit = 0; rest != 0; rest &= ~bit) {
    bit = rest & -rest;
    if (name == hwy::TargetName(bit)) return hwy::DisableTargets(bit - 1);  // disables all better ones
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(bit);
  }
  throw OptionError("target", Quoted(name), {"one of: ", known});
}

}  // namespace headlens
#endif  // HWY_ONCE
