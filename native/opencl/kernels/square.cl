// SPDX-License-Identifier: Apache-2.0
// Where work-item `item` of a work-group stands in a square of them. A GPU runs 32 as one: where it can be, these are
// eight by four, so that they read the fewest different numbers.

int ColumnInSquare(const int item, const int columns, const int rows) {
  const bool is_blocked = columns % 8 == 0 && rows % 4 == 0;
  return is_blocked ? item / 32 % (columns / 8) * 8 + item % 8 : item % columns;
}

int RowInSquare(const int item, const int columns, const int rows) {
  const bool is_blocked = columns % 8 == 0 && rows % 4 == 0;
  return is_blocked ? item / 32 / (columns / 8) * 4 + item / 8 % 4 : item / columns;
}
