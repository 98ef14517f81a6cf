// SPDX-License-Identifier: Apache-2.0
/** Maps of a figure as an address that holds them itself, so that Explore opens the very numbers of a lesson. */
import { type Scene, type Table, tablesOf } from "./scene.js";

/** Nine digits tell each 32-bit number from all others. */
const kDigits = 9;

/** Writes the numbers of tables of one shape as one layer of heads: a `data:` address, for the `src` of an element. */
export function ownMaps({ rows }: Scene, names: readonly string[]): string {
  const tables = names.map((name) => tablesOf(rows).find(({ matrix }) => matrix.name === name));
  const [first] = tables;
  if (!first || tables.includes(undefined)) throw new Error(`the figure lacks one of the tables ${names.join(", ")}`);
  const { rows: tokens, cols: keyTokens } = first.matrix;
  const heads = tables.filter((one) => one !== undefined);
  const weights = {
    shape: [heads.length, tokens.length, keyTokens.length],
    data: heads.flatMap(({ matrix }) => [...matrix.values].map((value) => Number(value.toPrecision(kDigits)))),
  };
  const text = JSON.stringify({ tokens, keyTokens, weights, ...sharedMask(heads) });
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return `data:application/json;base64,${btoa(bytes.join(""))}`;
}

/** The mask, where all tables have the same one: a file holds one for all of its heads. */
function sharedMask([first, ...others]: readonly Table[]): { mask?: { shape: number[]; data: number[] } } {
  if (!first?.masked || others.some(({ masked }) => String(masked) !== String(first.masked))) return {};
  const { rows, cols } = first.matrix;
  return { mask: { shape: [rows.length, cols.length], data: first.masked.map((isMasked) => Number(!isMasked)) } };
}
