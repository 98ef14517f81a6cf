// SPDX-License-Identifier: Apache-2.0
/** The content of a file: the arrays of an `<attention-map>`, and a sentence that says how they were understood. */
import type { GivenQueries } from "../maps/computing.js";
import type { GivenWeights } from "../maps/given.js";

/** Maps, or queries and keys to compute them from. */
export interface Given extends Partial<GivenWeights>, Partial<Omit<GivenQueries, "mask" | "tokens" | "keyTokens" | "causal">> {
  /** Such as "maps.npy: float32 (12, 64, 64), read as heads × queries × keys". */
  readonly understood: string;
}

/** The facts beside the numbers of a file. */
export type Facts = Pick<Given, "tokens" | "keyTokens" | "mask" | "causal">;
