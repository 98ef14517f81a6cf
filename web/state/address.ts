// SPDX-License-Identifier: Apache-2.0
/**
 * The state as the part of an address behind `#`. Long texts stand there in compressed form, and what an address cannot
 * hold is named in it, so that whoever opens it is asked for it.
 */
import { kInitial, readState, type State, writeState } from "./state.js";

/** Longer texts are compressed, by code that is loaded for them, and an address has at most so many characters of a compressed one. */
const kPlain = 200;
const kMostPacked = 6000;

const kPacked = "packed";
const kNeeds = "needs";

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

/** Names of what a reader gave to this page, or of what only the browser has, mean nothing elsewhere. */
const isOnlyHere = (address: string | undefined): boolean => /^(given|blob):/.test(address ?? "");

/** Writes what differs from `usual`. A text that is too long is named instead, as is what only this page has. */
export async function writeAddress(state: Partial<State>, usual: Readonly<State> = kInitial): Promise<string> {
  const { text = "", ...others } = state;
  const isShort = text.length <= kPlain || text === usual.text;
  const missing = (["model", "image", "src"] as const).filter((name) => isOnlyHere(state[name]));
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !missing.some((other) => other === name)));
  const parameters = writeState(isShort && state.text !== undefined ? { text, ...rest } : rest, usual);
  const packed = isShort ? "" : await (await import("./packed-text.js")).pack(text);
  const isHeld = packed.length <= kMostPacked;
  if (packed !== "" && isHeld) parameters.set(kPacked, packed);
  const needs = isHeld ? missing : ["text", ...missing];
  if (needs.length > 0) parameters.set(kNeeds, needs.join(","));
  return parameters.toString();
}
