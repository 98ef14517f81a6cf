// SPDX-License-Identifier: Apache-2.0
#include "attention/masks/row_marks.h"

#include <algorithm>
#include <array>

namespace headlens {
namespace {

auto KernelOf(const simd::Kernels& kernels, std::uint8_t) { return kernels.mark_bytes; }
auto KernelOf(const simd::Kernels& kernels, std::int32_t) { return kernels.mark_ints; }
auto KernelOf(const simd::Kernels& kernels, float) { return kernels.mark_floats; }

std::uint8_t MarkIf(bool yes) { return yes ? 1 : 0; }

}  // namespace

void RowMarks::Inside(KeyRange range) {
  const Index begin = std::clamp(range.begin, keys_.begin, keys_.end);
  const Index end = std::clamp(range.end, begin, keys_.end);
  std::fill(marks_ + (begin - keys_.begin), marks_ + (end - keys_.begin), std::uint8_t{1});
}

void RowMarks::Outside(KeyRange range) {
  if (range.begin >= range.end) return All();
  Inside({keys_.begin, range.begin});
  Inside({range.end, keys_.end});
}

template <class T>
void RowMarks::Compare(const T* cells, Index stride, T value, bool when_equal) {
  cells += keys_.begin * stride;
  if (!kernels_) {
    for (Index i = 0; i < count(); ++i) marks_[i] |= MarkIf((cells[i * stride] == value) == when_equal);
    return;
  }
  const auto mark = KernelOf(*kernels_, value);
  if (stride == 1) return mark(cells, count(), value, when_equal, marks_);
  std::array<T, 256> dense;
  constexpr auto kPiece = static_cast<Index>(dense.size());
  for (Index i = 0; i < count(); i += kPiece) {
    const Index n = std::min(kPiece, count() - i);
    for (Index j = 0; j < n; ++j) dense[static_cast<std::size_t>(j)] = cells[(i + j) * stride];
    mark(dense.data(), n, value, when_equal, marks_ + i);
  }
}

template void RowMarks::Compare(const std::uint8_t*, Index, std::uint8_t, bool);
template void RowMarks::Compare(const std::int32_t*, Index, std::int32_t, bool);
template void RowMarks::Compare(const float*, Index, float, bool);

void RowMarks::OffStep(Index own, Index step) {
  if (!kernels_) {
    for (Index s = keys_.begin; s < keys_.end; ++s) marks_[s - keys_.begin] |= MarkIf((own - s) % step != 0);
    return;
  }
  constexpr Index kPiece = 1 << 20;  // the kernel counts in 32 bits
  for (Index s = keys_.begin; s < keys_.end; s += kPiece) {
    const KeyRange piece{s, std::min(s + kPiece, keys_.end)};
    const Index n = piece.end - piece.begin, rest = (own - s) % step, first = rest < 0 ? rest + step : rest;
    if (first >= n) {
      Inside(piece);
    } else {
      kernels_->mark_off_step(n, first, std::min(step, n), marks_ + (s - keys_.begin));
    }
  }
}

void RowMarks::Unless(const std::uint8_t* marks, const std::uint8_t* except) {
  if (kernels_) return kernels_->mark_unless(marks, except, count(), marks_);
  for (Index i = 0; i < count(); ++i) marks_[i] |= static_cast<std::uint8_t>(marks[i] & (except[i] ^ 1));
}

}  // namespace headlens
