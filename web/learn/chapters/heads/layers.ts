// SPDX-License-Identifier: Apache-2.0
/** Layers that the lessons of this chapter share. */
import type { StateDict } from "headlens";
import { layerState, type Draw } from "../../experiments/numbers.js";

/** Matrices W [D, D] that are used as x · W. */
export type Projections = Readonly<Record<"q" | "k" | "v" | "o", number[][]>>;

/** Random projections that keep numbers at about unit size. */
export function projectionsOf(draw: Draw, width: number): Projections {
  const square = (): number[][] => draw.rows(width, width, 1 / Math.sqrt(width));
  return { q: square(), k: square(), v: square(), o: square() };
}

export const stateOf = ({ q, k, v, o }: Projections): StateDict => layerState(q, k, v, o);
