// SPDX-License-Identifier: Apache-2.0
/** Numbers of bytes and large numbers in sentences. */
const kUnits = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function inBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), kUnits.length - 1);
  return `${Number((bytes / 1024 ** power).toPrecision(4))} ${kUnits[power] ?? ""}`;
}

export const grouped = (number: number): string => number.toLocaleString("en-US");
