// SPDX-License-Identifier: Apache-2.0
import { dataOf, idsOf, modelSource } from "./workloads.mjs";

/** Adds to what differs between Node and a page what does not: the rows' numbers, and an engine to check with. */
export function makeHost({ load, threads, peer, tokenizer }) {
  return {
    load, threads, peer, tokenizer,
    /** Queries and keys of a map row are what its model makes of them. */
    async dataOf(row) {
      if (row.kind !== "map") return dataOf(row);
      using engine = await load();
      const seen = (await engine.loadModel(modelSource(row, await tokenizer()))).attend(idsOf(row));
      const asHead = ({ data, shape }) => ({ data, shape: [1, 1, shape[0], shape.at(-1)] });
      return { q: asHead(seen.queries(0)), k: asHead(seen.keys(0)) };
    },
    async withReference(use) {
      using engine = await load();
      return use(engine);
    },
  };
}
