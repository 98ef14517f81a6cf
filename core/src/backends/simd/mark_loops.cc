// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/mark_loops.h"

#include <algorithm>
#include <array>

namespace headlens::simd {
namespace {

/// The kernels need dense cells. Others are copied first, a limited number at a time.
template <class T, class Kernel>
void CompareDense(Kernel mark, const T* cells, Index stride, Index count, T value, bool when_equal,
                  std::uint8_t* marks) {
  if (stride == 1) return mark(cells, count, value, when_equal, marks);
  std::array<T, 256> dense;
  constexpr auto kPiece = static_cast<Index>(dense.size());
  for (Index i = 0; i < count; i += kPiece) {
    const Index n = std::min(kPiece, count - i);
    for (Index j = 0; j < n; ++j) dense[static_cast<std::size_t>(j)] = cells[(i + j) * stride];
    mark(dense.data(), n, value, when_equal, marks + i);
  }
}

}  // namespace

void SimdMarkLoops::Compare(const std::uint8_t* cells, Index stride, Index count, std::uint8_t value, bool when_equal,
                            std::uint8_t* marks) const {
  CompareDense(kernels_.mark_bytes, cells, stride, count, value, when_equal, marks);
}
void SimdMarkLoops::Compare(const std::int32_t* cells, Index stride, Index count, std::int32_t value, bool when_equal,
                            std::uint8_t* marks) const {
  CompareDense(kernels_.mark_ints, cells, stride, count, value, when_equal, marks);
}
void SimdMarkLoops::Compare(const float* cells, Index stride, Index count, float value, bool when_equal,
                            std::uint8_t* marks) const {
  CompareDense(kernels_.mark_floats, cells, stride, count, value, when_equal, marks);
}

void SimdMarkLoops::OffStep(Index own, Index step, KeyRange keys, std::uint8_t* marks) const {
  constexpr Index kPiece = 1 << 20;  // the kernel counts in 32 bits
  for (Index s = keys.begin; s < keys.end; s += kPiece) {
    const Index n = std::min(kPiece, keys.end - s), rest = (own - s) % step, first = rest < 0 ? rest + step : rest;
    std::uint8_t* piece = marks + (s - keys.begin);
    if (first >= n) {
      std::fill_n(piece, n, std::uint8_t{1});
    } else {
      kernels_.mark_off_step(n, first, std::min(step, n), piece);
    }
  }
}

void SimdMarkLoops::Unless(const std::uint8_t* hidden, const std::uint8_t* shown, Index count,
                           std::uint8_t* marks) const {
  kernels_.mark_unless(hidden, shown, count, marks);
}

}  // namespace headlens::simd
