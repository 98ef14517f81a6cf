// SPDX-License-Identifier: Apache-2.0
/**
 * The state as the part of an address behind `#`. Long texts stand there in compressed form, and what an address cannot
 * hold is named in it, so that whoever opens it is asked for it.
 */
import { readState, type State } from "./state.js";

/** The names of parameters that are no part of the state. */
export const kPacked = "packed";
export const kNeeds = "needs";

/** The content of an address. */
export interface Address {
  readonly state: Partial<State>;
  /** A text in compressed form, which takes a moment to read. Rejects when it is not one. */
  readonly text: Promise<string> | undefined;
  /** The names of things that the address could not hold, such as "text". */
  readonly needs: readonly string[];
}

const unpack = async (packed: string): Promise<string> => (await import("./packed-text.js")).unpack(packed);

export function readAddress(hash: string): Address {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const packed = parameters.get(kPacked);
  const needs = (parameters.get(kNeeds) ?? "").split(",").filter((name) => /^\w+$/.test(name));
  return { state: readState(parameters), text: packed === null ? undefined : unpack(packed), needs };
}
