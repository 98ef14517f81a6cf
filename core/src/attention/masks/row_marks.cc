// SPDX-License-Identifier: Apache-2.0
#include "attention/masks/row_marks.h"

#include <algorithm>

namespace headlens {
namespace {

std::uint8_t MarkIf(bool yes) { return yes ? 1 : 0; }

template <class T>
void ComparePlainly(const T* cells, Index stride, Index count, T value, bool when_equal, std::uint8_t* marks) {
  for (Index i = 0; i < count; ++i) marks[i] |= MarkIf((cells[i * stride] == value) == when_equal);
}

}  // namespace

void MarkLoops::Compare(const std::uint8_t* cells, Index stride, Index count, std::uint8_t value, bool when_equal,
                        std::uint8_t* marks) const {
  ComparePlainly(cells, stride, count, value, when_equal, marks);
}
void MarkLoops::Compare(const std::int32_t* cells, Index stride, Index count, std::int32_t value, bool when_equal,
                        std::uint8_t* marks) const {
  ComparePlainly(cells, stride, count, value, when_equal, marks);
}
void MarkLoops::Compare(const float* cells, Index stride, Index count, float value, bool when_equal,
                        std::uint8_t* marks) const {
  ComparePlainly(cells, stride, count, value, when_equal, marks);
}

void MarkLoops::OffStep(Index own, Index step, KeyRange keys, std::uint8_t* marks) const {
  for (Index s = keys.begin; s < keys.end; ++s) marks[s - keys.begin] |= MarkIf((own - s) % step != 0);
}

void MarkLoops::Unless(const std::uint8_t* hidden, const std::uint8_t* shown, Index count, std::uint8_t* marks) const {
  for (Index i = 0; i < count; ++i) marks[i] |= static_cast<std::uint8_t>(hidden[i] & (shown[i] ^ 1));
}

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

}  // namespace headlens
