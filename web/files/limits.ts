// SPDX-License-Identifier: Apache-2.0
/** The most that a file may ask for. Every limit is checked before memory is taken. */
import { showShape } from "../maps/nested.js";

/** The bytes of a file, also of what a zip unpacks to. */
export const kMaxBytes = 2 ** 31;
/** The characters of JSON and CSV, which have to fit into one string. */
export const kMaxText = 2 ** 28;
/** The cells of maps that are given cell by cell, since a few of them claim a whole map. */
export const kMaxSparse = 2 ** 26;
const kMaxValues = 2 ** 29;

export const kAccepted = "maps as .safetensors, .npy, .npz, JSON or CSV";

/** Shows something of a file in a message: short, telling text from numbers. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** The number of values of a shape, which is refused when it is no list of sizes or claims more than can be held. */
export function countOf(place: string, shape: readonly unknown[]): number {
  const isSize = (size: unknown): size is number => Number.isSafeInteger(size) && (size as number) >= 0;
  if (!shape.every(isSize)) throw new Error(`${place} has the shape (${shape.map(show).join(", ")}), expected whole numbers`);
  const count = shape.reduce((product, size) => product * size, 1);
  if (count > kMaxValues) throw new Error(`${place} has shape ${showShape(shape)}, expected at most ${kMaxValues} values`);
  return count;
}
