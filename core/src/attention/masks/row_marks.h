// SPDX-License-Identifier: Apache-2.0
/// The marks on one row of keys, which all kinds of masks set.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
#define HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_

#include <cstdint>

#include "attention/key_range.h"
#include "headlens/tensor.h"

namespace headlens {

/// The loops that mark keys. Each function sets marks[i] to 1 for the keys that it describes and leaves the other marks
/// as they are. These are plain loops; a backend may override them with faster ones.
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
  /// Marks the keys of `keys` whose distance from `own` is not a multiple of `step`.
  virtual void OffStep(Index own, Index step, KeyRange keys, std::uint8_t* marks) const;
  /// Marks the keys that are marked in `hidden` and not marked in `shown`.
  virtual void Unless(const std::uint8_t* hidden, const std::uint8_t* shown, Index count, std::uint8_t* marks) const;
};

/// The marks of a range of keys: marks[s − keys.begin] is that of key s. Borrows the marks and the loops.
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
  /// Marks the keys s for which cells[s · stride] is not `value`.
  template <class T>
  void Different(const T* cells, Index stride, T value) {
    loops_.Compare(cells + keys_.begin * stride, stride, count(), value, /*when_equal=*/false, marks_);
  }
  /// Marks the keys whose distance from `own` is not a multiple of `step`.
  void OffStep(Index own, Index step) { loops_.OffStep(own, step, keys_, marks_); }
  /// Marks the keys that are marked in `hidden` and not marked in `shown`, which cover the same keys as these marks.
  void Unless(const std::uint8_t* hidden, const std::uint8_t* shown) { loops_.Unless(hidden, shown, count(), marks_); }

 private:
  Index count() const { return keys_.end - keys_.begin; }

  KeyRange keys_;
  std::uint8_t* marks_;
  const MarkLoops& loops_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_ROW_MARKS_H_
