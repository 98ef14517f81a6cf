// SPDX-License-Identifier: Apache-2.0
// The place of work-item `item` in the rectangle that a work-group is. A GPU runs 32 items as one. Where that can be,
// these stand eight by four, so that they read the fewest different numbers.

int ColumnInSquare(const int item, const int columns, const int rows) {
  const bool is_blocked = columns % 8 == 0 && rows % 4 == 0;
  return is_blocked ? item / 32 % (columns / 8) * 8 + item % 8 : item % columns;
}

int RowInSquare(const int item, const int columns, const int rows) {
  const bool is_blocked = columns % 8 == 0 && rows % 4 == 0;
  return is_blocked ? item / 32 / (columns / 8) * 4 + item / 8 % 4 : item / columns;
}
