// SPDX-License-Identifier: Apache-2.0
/** A causal map with a window, and the tokens that reach others through several layers of such maps. */
import { runHead } from "../head.js";
import { Draw, sum, type LessonEngine } from "../numbers.js";

const dot = (a: readonly number[], b: readonly number[]): number =>
  sum(a.map((value, index) => value * (b[index] ?? NaN)));

export interface Windowed {
  /** The weights of one layer. */
  readonly weights: number[][];
  /** The product of as many such maps as there are layers: the part of each token's output that came from each token. */
  readonly reach: number[][];
}

export interface WindowOptions {
  readonly tokens: number;
  /** The number of earlier tokens that a token sees. */
  readonly window: number;
  readonly layers: number;
  /** The first token sees and is seen by all that the causal mask allows. */
  readonly isFirstGlobal: boolean;
}

const kWidth = 4;

export async function windowed(engine: LessonEngine, options: WindowOptions): Promise<Windowed> {
  const { tokens, window, layers, isFirstGlobal } = options;
  const draw = new Draw(94);
  const [q, k] = [draw.rows(tokens, kWidth), draw.rows(tokens, kWidth)];
  const isGlobal = Array.from({ length: tokens }, (_, token) => isFirstGlobal && token === 0);
  const globalTokens = { data: isGlobal, shape: [1, tokens] };
  const scaling = { scale: 1 / Math.sqrt(kWidth) };
  const { weights } = await runHead(engine, q, k, k, { ...scaling, isCausal: true, windowLeft: window, globalTokens });
  let reach = weights;
  for (let layer = 1; layer < layers; ++layer)
    reach = weights.map((row) => row.map((_, col) => dot(row, reach.map((cells) => cells[col] ?? NaN))));
  return { weights, reach };
}
