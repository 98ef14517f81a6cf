// SPDX-License-Identifier: Apache-2.0
/** Returns the number of elements. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const n of shape) size *= n;
  return size;
}

/** Returns true when the number of elements is exact, each size of 0 counted as 1: doubles round larger numbers. */
export function isExact(shape: readonly number[]): boolean {
  let size = 1;
  for (const n of shape) size *= n || 1;
  return Number.isSafeInteger(size);
}
