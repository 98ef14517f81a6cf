// SPDX-License-Identifier: Apache-2.0
/** A small part of a map that is too large to be stored. */
import type { Tensor } from "headlens";
import { Draw, count, type LessonEngine } from "../numbers.js";

/** So many random tokens are repeated up to the end of the text, since drawing more would take longer than all else. */
const kDrawn = 1024;
const kWidth = 4;

export interface Corner {
  readonly values: Float32Array;
  /** The places of its columns in the text. Its rows are the last of them. */
  readonly names: readonly string[];
}

/** Computes the last rows and columns of a causal map of so many tokens. A score falls by 0.5 with each token of distance. */
export async function corner(engine: LessonEngine, tokens: number, rows: number, cols: number): Promise<Corner> {
  const draw = new Draw(91);
  const [q, k] = [repeated(draw.row(kDrawn * kWidth), tokens), repeated(draw.row(kDrawn * kWidth), tokens)];
  const alibiSlopes = { data: Float32Array.of(0.5), shape: [1] };
  const maps = await engine.attentionMaps(q, k, { isCausal: true, alibiSlopes });
  try {
    const { data } = await maps.map(0, 0, { rows: [tokens - rows, tokens], cols: [tokens - cols, tokens] });
    return { values: data, names: count(cols, (col) => (tokens - cols + col + 1).toLocaleString("en-US")) };
  } finally {
    maps.dispose();
  }
}

function repeated(drawn: readonly number[], tokens: number): Tensor {
  const data = new Float32Array(tokens * kWidth);
  for (let first = 0; first < data.length; first += drawn.length) data.set(drawn.slice(0, data.length - first), first);
  return { data, shape: [tokens, kWidth] };
}
