// SPDX-License-Identifier: Apache-2.0
/// The marks of one row of keys, to which masks add theirs.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
#define HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_

#include <cstdint>

#include "attention/key_range.h"
#include "headlens/tensor.h"

namespace headlens {

/// How a backend marks cells: marks[i] becomes 1 for each cell that is asked for, and else stays as it is. The
/// functions of this class are plain loops; a backend may have faster ones.
class MarkLoops {
 public:
  virtual ~MarkLoops() = default;

  /// Marks the cells i of [0, count) for which (cells[i · stride] == value) is `when_equal`.
  virtual void Compare(const std::uint8_t* cells, Index stride, Index count, std::uint8_t value, bool when_equal,
                       std::uint8_t* marks) const;
  virtual void Compare(const std::int32_t* cells, Index stride, Index count, std::int32_t value, bool when_equal,
                       std::uint8_t* marks) const;
  virtual void Compare(const float* cells, Index stride, Index count, float value, bool when_equal,
                       std::uint8_t* marks) const;
  /// Marks the keys of `keys` that are no multiple of `step` away from `own`.
  virtual void OffStep(Index own, Index step, KeyRange keys, std::uint8_t* marks) const;
  /// Marks the cells that have a mark in `hidden`, but none in `shown`.
  virtual void Unless(const std::uint8_t* hidden, const std::uint8_t* shown, Index count, std::uint8_t* marks) const;
};

/// Marks of the keys of one range: marks[s − keys.begin] is that of key s. Borrows the marks and the loops.
class RowMarks {
 public:
  RowMarks(KeyRange keys, std::uint8_t* marks, const MarkLoops& loops) : keys_(keys), marks_(marks), loops_(loops) {}

  void All() { Inside(keys_); }
  void Inside(KeyRange range);
  void Outside(KeyRange range);

  /// Marks the keys s for which cells[s · stride] is `value`.
  template <class T>
  void Equal(const T* cells, Index stride, T value) {
    loops_.Compare(cells + keys_.begin * stride, stride, count(), value, /*when_equal=*/true, marks_);
  }
  /// Marks the keys s for which cells[s · stride] is another than `value`.
  template <class T>
  void Different(const T* cells, Index stride, T value) {
    loops_.Compare(cells + keys_.begin * stride, stride, count(), value, /*when_equal=*/false, marks_);
  }
  /// Marks the keys that are no multiple of `step` away from `own`.
  void OffStep(Index own, Index step) { loops_.OffStep(own, step, keys_, marks_); }
  /// Marks the keys that have a mark in `hidden`, but none in `shown`: both are rows of the same keys.
  void Unless(const std::uint8_t* hidden, const std::uint8_t* shown) { loops_.Unless(hidden, shown, count(), marks_); }

 private:
  Index count() const { return keys_.end - keys_.begin; }

  KeyRange keys_;
  std::uint8_t* marks_;
  const MarkLoops& loops_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
