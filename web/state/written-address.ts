// SPDX-License-Identifier: Apache-2.0
/** The address of a state, as address.ts reads it. This is loaded when an address is first written. */
import { kNeeds, kPacked } from "./address.js";
import { kInitial, type State, writeState } from "./state.js";

/** Longer texts are compressed, by code that is loaded for them, and an address has at most so many characters of a compressed one. */
const kPlain = 200;
const kMostPacked = 6000;

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
