// SPDX-License-Identifier: Apache-2.0
/** Maps that are given cell by cell. The cells that are not given are not known, which is something else than 0. */
import type { Size } from "../maps/source.js";
import type { Given } from "./given-maps.js";
import { kMaxSparse } from "./limits.js";

export class SparseMaps {
  readonly #place: string;
  readonly #shape: readonly [layers: number, heads: number, rows: number, cols: number];
  readonly #values: Float32Array;
  readonly #known: Uint8Array;
  #isCausal = true;

  /** Throws an Error that begins with `place` when the maps have too many cells. */
  constructor(place: string, layers: number, heads: number, [rows, cols]: Size) {
    const count = layers * heads * rows * cols;
    if (!(count > 0 && count <= kMaxSparse))
      throw new Error(`${place} has maps of ${layers} × ${heads} × ${rows} × ${cols} cells, expected 1 to ${kMaxSparse}`);
    this.#place = place;
    this.#shape = [layers, heads, rows, cols];
    this.#values = new Float32Array(count).fill(NaN);
    this.#known = new Uint8Array(count);
  }

  set(layer: number, head: number, row: number, col: number, value: number): void {
    const [, heads, rows, cols] = this.#shape;
    const isInside = Number.isInteger(row) && Number.isInteger(col) && row >= 0 && row < rows && col >= 0 && col < cols;
    if (!isInside) throw new Error(`${this.#place} has a cell of query ${row} and key ${col}, expected 0 to ${rows - 1} and 0 to ${cols - 1}`);
    const at = ((layer * heads + head) * rows + row) * cols + col;
    this.#values[at] = value;
    this.#known[at] = 1;
    if (col > row) this.#isCausal = false;
  }

  /** The maps, which also count as causal when no key after its query is known, and what is to be said of their cells. */
  given(isCausal = false): Omit<Given, "understood"> & { readonly words: string } {
    const [, , rows, cols] = this.#shape;
    const isFoundCausal = !isCausal && this.#isCausal && rows === cols && rows > 1;
    const causal = isCausal || isFoundCausal;
    let [known, all] = [0, 0];
    this.#known.forEach((cell, at) => {
      if (causal && at % cols > Math.floor(at / cols) % rows) return;
      known += cell;
      all++;
    });
    const counted = known < all ? `; ${known} of ${all} cells are known` : "";
    return {
      weights: { data: this.#values, shape: this.#shape },
      known: known < all ? this.#known : undefined,
      causal,
      words: `${counted}${isFoundCausal ? "; causal, since no key is after its query" : ""}`,
    };
  }
}
