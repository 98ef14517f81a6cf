// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_MARK_LOOPS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_MARK_LOOPS_H_

#include "attention/masks/row_marks.h"
#include "backends/simd/kernels/kernels.h"

namespace headlens::simd {

/// Mark loops that use the kernels, which must outlive this object.
class SimdMarkLoops : public MarkLoops {
 public:
  explicit SimdMarkLoops(const Kernels& kernels) : kernels_(kernels) {}

  void Compare(const std::uint8_t* cells, Index stride, Index count, std::uint8_t value, bool when_equal,
               std::uint8_t* marks) const override;
  void Compare(const std::int32_t* cells, Index stride, Index count, std::int32_t value, bool when_equal,
               std::uint8_t* marks) const override;
  void Compare(const float* cells, Index stride, Index count, float value, bool when_equal,
               std::uint8_t* marks) const override;
  void OffStep(Index own, Index step, KeyRange keys, std::uint8_t* marks) const override;
  void Unless(const std::uint8_t* hidden, const std::uint8_t* shown, Index count, std::uint8_t* marks) const override;

 private:
  const Kernels& kernels_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_MARK_LOOPS_H_
