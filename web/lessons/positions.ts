// SPDX-License-Identifier: Apache-2.0
/** Position vectors that lessons add to embeddings. */

/** [length, width]: sin(position / 10000^(2i/width)) at columns 2i, the cosine beside it (Vaswani et al. 2017, §3.5). */
export const sinusoidal = (length: number, width: number): number[][] =>
  Array.from({ length }, (_, position) =>
    Array.from({ length: width }, (_, column) => {
      const angle = position / 10000 ** ((column - (column % 2)) / width);
      return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
