// SPDX-License-Identifier: Apache-2.0
// Where tensors of heads are in memory, whatever their layout. As places.h has it.

// Elements from one to the next batch, group of heads, member of the group and row; `base` is where the first is.
typedef struct {
  long base, batch, group, member, row;
} Place;

// Which heads a launch works on: head z is member z % members of group first + z / members, counted through the batch.
typedef struct {
  long first, groups, members;
} Heads;

// The number of a work-group counts through all that a launch works on, the innermost first, of which there are
// `count`: returns which of these it is, and leaves in `id` the number among the rest.
long Next(long* id, const long count) {
  const long number = *id % count;
  *id /= count;
  return number;
}

long Begin(const Place place, const Heads heads, const long z) {
  const long group = heads.first + z / heads.members;
  return place.base + group / heads.groups * place.batch + group % heads.groups * place.group +
         z % heads.members * place.member;
}
