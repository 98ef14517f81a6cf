// SPDX-License-Identifier: Apache-2.0
import type { GivenQueries } from "./computing.js";
import { sharedEngine } from "./engine.js";
import { EngineMaps } from "./engine-maps.js";
import { names, readMask, shapeOf } from "./given.js";
import { tensorOf } from "./nested.js";
import type { Lease } from "./source.js";

/** The maps of given queries and keys, of any length. The engine keeps copies of both until they are released. */
export async function computedMaps(given: GivenQueries): Promise<Lease> {
  const engine = await sharedEngine();
  const { softmaxScale, causal } = given;
  const [queries, keys] = [tensorOf("queries", given.queries), tensorOf("keys", given.keys)];
  const mask = given.mask && tensorOf("mask", given.mask);
  const shown = mask && { shape: shapeOf(mask), data: Uint8Array.from(mask.data, Number) };
  const maps = await engine.attentionMaps(queries, keys, {
    isCausal: causal,
    enableGqa: true,
    ...(softmaxScale !== undefined && softmaxScale !== null && { scale: softmaxScale }),
    ...(shown && { attnMask: shown, maskTrue: "keep" }),
  });
  try {
    const [rows, cols] = [maps.queries, maps.keys];
    const cells = readMask(mask, causal, [rows, cols]);
    const tokens = names("tokens", given.tokens, rows);
    const facts = {
      tokens,
      keyTokens: names("keyTokens", given.keyTokens ?? (rows === cols ? given.tokens : undefined), cols),
      tokenCount: tokens.length,
      heads: Array<number>(maps.batches).fill(maps.heads),
      maskOf: () => cells,
    };
    return { maps: new EngineMaps(maps, facts), release: () => maps.dispose() };
  } catch (error) {
    maps.dispose();
    throw error;
  }
}
