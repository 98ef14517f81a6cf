// SPDX-License-Identifier: Apache-2.0
import { dataOf, idsOf, modelSource } from "./workloads.mjs";

/**
 * Adds the parts of a host that are the same in Node and in pages: the rows' numbers, and an engine that checks
 * results.
 */
export function makeHost({ load, threads, peer, tokenizer }) {
  return {
    load, threads, peer, tokenizer,
    /** The queries and keys of a map row are those that its model computes. */
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
