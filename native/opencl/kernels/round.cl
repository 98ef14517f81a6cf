// SPDX-License-Identifier: Apache-2.0
// Rounds numbers to 16 bits. Build options: GROUP_ITEMS; HALVES or BFLOATS; those of elements.cl.

#define WIDE 8  // numbers of a work-item, which are 16 bytes when they are rounded

// Each number is rounded to the nearest, and to the even one where two are. IsUsual returns true when all are finite
// then.
#ifdef HALVES
ushort8 Rounded(const float8 x) {
  ushort8 rounded;
  vstore_half8_rte(x, 0, (half*)&rounded);
  return rounded;
}
bool IsUsual(const float8 x) { return all(fabs(x) < 65520.0f); }
#else
uint8 Shorter(const float8 x) {
  const uint8 bits = as_uint8(x);
  return select((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, (uint8)0x7fc0u, isnan(x));
}
ushort8 Rounded(const float8 x) { return convert_ushort8(Shorter(x)); }
bool IsUsual(const float8 x) { return all(isfinite(as_float8(Shorter(x) << 16))); }
#endif

// Rows of `to`, which are `padded` long, become those of `from` in these heads, rounded, and 0 from `width` on.
// `unusual`, where it is not null, is set where a number is not finite any more. `count` is that of the work-items:
// each has WIDE numbers of a row, of which the last may have fewer.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Round(
    __global const ELEMENT* from, const Place place, const Heads heads, const long rows, const long width,
    const long padded, const long count, __global ushort* to, const Place to_place, __global uint* unusual) {
  if (get_global_id(0) >= count) return;
  long z = get_global_id(0);
  const long column = Next(&z, (padded + WIDE - 1) / WIDE) * WIDE, row = Next(&z, rows);
  const long begin = Begin(place, heads, z) + row * place.row + column;
  const long at = Begin(to_place, heads, z) + row * to_place.row + column;
  from += begin;
  to += at;
  float x[WIDE];
  if (begin % 4 == 0 && width - column >= WIDE) {
    vstore4(VALUES(from), 0, x);
    vstore4(VALUES(from + 4), 1, x);
  } else {
#pragma unroll
    for (int i = 0; i < WIDE; ++i) x[i] = i < width - column ? VALUE(from, i) : 0.0f;
  }
  const float8 numbers = vload8(0, x);
  const ushort8 rounded = Rounded(numbers);
  if (at % WIDE == 0 && padded - column >= WIDE) {
    *(__global ushort8*)to = rounded;
  } else {
    ushort each[WIDE];
    vstore8(rounded, 0, each);
#pragma unroll
    for (int i = 0; i < WIDE; ++i)
      if (i < padded - column) to[i] = each[i];
  }
  if (unusual && !IsUsual(numbers)) atomic_or(unusual, 1u);
}
