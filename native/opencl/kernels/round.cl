// SPDX-License-Identifier: Apache-2.0
// Rounds numbers to 16 bits. Build options: GROUP_ITEMS; HALVES or BFLOATS.

// Rows of `to`, which are `padded` long, become those of `from` in these heads, and 0 from `width` on. Each number is
// rounded to the nearest, and to the even one where two are. `unusual`, where it is not null, is set where a number is
// not finite any more.
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) void Round(
    __global const float* from, const Place place, const Heads heads, const long rows, const long width,
    const long padded, const long count, __global ushort* to, const Place to_place, __global uint* unusual) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long column = i % padded, row = i / padded % rows, z = i / padded / rows;
  const float x = column < width ? from[Begin(place, heads, z) + row * place.row + column] : 0.0f;
  const long at = Begin(to_place, heads, z) + row * to_place.row + column;
#if defined(HALVES)
  vstore_half_rte(x, at, (__global half*)to);
  if (unusual && !(fabs(x) < 65520.0f)) atomic_or(unusual, 1u);
#else
  const uint bits = as_uint(x);
  const uint rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  to[at] = isnan(x) ? 0x7fc0 : (ushort)rounded;
  if (unusual && (!isfinite(x) || !isfinite(as_float(rounded << 16)))) atomic_or(unusual, 1u);
#endif
}
