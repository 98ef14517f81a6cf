// SPDX-License-Identifier: Apache-2.0
/// The marks of one row of keys, to which masks add theirs.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
#define HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_

#include <cstdint>

#include "backends/simd/kernels/kernels.h"
#include "headlens/tensor.h"

namespace headlens {

/// marks[s − keys.begin] becomes 1 for each key s that is asked for, and else stays as it is. With the SIMD backend's
/// kernels, or, without any, by the plain loops of the reference.
class RowMarks {
 public:
  RowMarks(KeyRange keys, std::uint8_t* marks, const simd::Kernels* kernels)
      : keys_(keys), marks_(marks), kernels_(kernels) {}

  void All() { Inside(keys_); }
  void Inside(KeyRange range);
  void Outside(KeyRange range);

  /// The keys s for which cells[s · stride] is `value`, or is another.
  template <class T>
  void Equal(const T* cells, Index stride, T value) {
    Compare(cells, stride, value, true);
  }
  template <class T>
  void Different(const T* cells, Index stride, T value) {
    Compare(cells, stride, value, false);
  }

  /// The keys that are no multiple of `step` away from `own`.
  void OffStep(Index own, Index step);

  /// The keys that have a mark in `marks`, but none in `except`: rows of the same keys.
  void Unless(const std::uint8_t* marks, const std::uint8_t* except);

 private:
  template <class T>
  void Compare(const T* cells, Index stride, T value, bool when_equal);

  Index count() const { return keys_.end - keys_.begin; }

  KeyRange keys_;
  std::uint8_t* marks_;
  const simd::Kernels* kernels_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
