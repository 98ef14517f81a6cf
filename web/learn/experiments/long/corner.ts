// SPDX-License-Identifier: Apache-2.0
/** A small part of a map that is too large to be stored. */
import { Draw, count, type LessonEngine } from "../numbers.js";

const [kWidth, kMost] = [4, 131072];

export interface Corner {
  readonly values: Float32Array;
  /** The places of its columns in the text. Its rows are the last of them. */
  readonly names: readonly string[];
}

let drawn: Float32Array | undefined;

/** Computes the last rows and columns of a causal map of so many random tokens. A score falls by 0.5 with each token of distance. */
export async function corner(engine: LessonEngine, tokens: number, rows: number, cols: number): Promise<Corner> {
  drawn ??= Float32Array.from(new Draw(91).row(2 * kMost * kWidth));
  const part = (first: number): { data: Float32Array; shape: number[] } => ({ data: new Float32Array(drawn?.subarray(first, first + tokens * kWidth) ?? []), shape: [tokens, kWidth] });
  const slopes = { data: Float32Array.of(0.5), shape: [1] };
  const maps = await engine.attentionMaps(part(0), part(kMost * kWidth), { isCausal: true, alibiSlopes: slopes });
  try {
    const { data } = await maps.map(0, 0, { rows: [tokens - rows, tokens], cols: [tokens - cols, tokens] });
    return { values: data, names: count(cols, (col) => (tokens - cols + col + 1).toLocaleString("en-US")) };
  } finally {
    maps.dispose();
  }
}
