// SPDX-License-Identifier: Apache-2.0
// Finds the rows of heads in memory, whatever their layout. The structures are those of gpu/kernel_arguments.h, which
// is put before this file.

// The number of a work-group counts through all that a launch works on, the innermost first. Takes the innermost
// number, of which there are `count`, out of `id` and returns it.
long Next(long* id, const long count) {
  const long number = *id % count;
  *id /= count;
  return number;
}

// The first element of head z of a launch.
long Begin(const Place place, const Heads heads, const long z) {
  const long group = heads.first + z / heads.members;
  return place.base + group / heads.groups * place.batch + group % heads.groups * place.group +
         z % heads.members * place.member;
}
