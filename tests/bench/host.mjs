// SPDX-License-Identifier: Apache-2.0
import { dataOf, idsOf, modelSource } from "./workloads.mjs";

/** Adds to what differs between Node and a page what does not: the rows' numbers, and an engine to check with. */
export function makeHost({ load, threads, peer, tokenizer }) {
  return {
    load, threads, peer, tokenizer,
    /** Queries and keys of a map row are what its model makes of them. */
    async dataOf(row) {
      if (row.kind !== "map") return dataOf(row);
      return this.withReference(async (engine) => {
        const seen = (await engine.loadModel(modelSource(row, await tokenizer()))).attend(idsOf(row));
        const asHead = ({ data, shape }) => ({ data, shape: [1, ...shape] });
        return { q: asHead(seen.queries(0)), k: asHead(seen.keys(0)) };
      });
    },
    async withReference(use) {
      const engine = await load();
      try {
        return await use(engine);
      } finally {
        engine.dispose();
      }
    },
  };
}
