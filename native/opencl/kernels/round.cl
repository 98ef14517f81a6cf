// SPDX-License-Identifier: Apache-2.0
// Rounds numbers to 16 bits. Build options: GROUP_ITEMS; HALVES or BFLOATS; those of elements.cl.

#define WIDE 8  // numbers of a work-item, which are 16 bytes when they are rounded

// Returns WIDE numbers, of which `count` are p's and the others 0.
float8 LoadWide(__global const ELEMENT* p, const long count, const bool aligned) {
  if (aligned && count >= WIDE) return (float8)(VALUES(p), VALUES(p + 4));
  float x[WIDE];
  for (int i = 0; i < WIDE; ++i) x[i] = i < count ? VALUE(p, i) : 0.0f;
  return vload8(0, x);
}

// Rows of `to`, which are `padded` long, become those of `from` in these heads, and 0 from `width` on. Each number is
// rounded to the nearest, and to the even one where two are. `unusual`, where it is not null, is set where a number is
// not finite any more. `count` is that of the work-items: each has WIDE numbers of a row, the last may have fewer.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Round(
    __global const ELEMENT* from, const Place place, const Heads heads, const long rows, const long width,
    const long padded, const long count, __global ushort* to, const Place to_place, __global uint* unusual) {
  if (get_global_id(0) >= count) return;
  long z = get_global_id(0);
  const long column = Next(&z, (padded + WIDE - 1) / WIDE) * WIDE, row = Next(&z, rows);
  const long begin = Begin(place, heads, z) + row * place.row + column;
  const long at = Begin(to_place, heads, z) + row * to_place.row + column;
  const float8 x = LoadWide(from + begin, width - column, begin % 4 == 0);
#if defined(HALVES)
  ushort8 rounded;
  vstore_half8_rte(x, 0, (half*)&rounded);
  const bool usual = all(fabs(x) < 65520.0f);
#else
  const uint8 bits = as_uint8(x);
  const uint8 shorter = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const ushort8 rounded = select(convert_ushort8(shorter), (ushort8)0x7fc0, convert_short8(isnan(x)));
  const bool usual = all(isfinite(x)) && all(isfinite(as_float8(shorter << 16)));
#endif
  if (at % WIDE == 0 && padded - column >= WIDE) {
    *(__global ushort8*)(to + at) = rounded;
  } else {
    ushort each[WIDE];
    vstore8(rounded, 0, each);
    for (int i = 0; i < WIDE && i < padded - column; ++i) to[at + i] = each[i];
  }
  if (unusual && !usual) atomic_or(unusual, 1u);
}
