// SPDX-License-Identifier: Apache-2.0
/**
 * The state as the part of an address behind `#`. Long texts stand there in compressed form, and what an address cannot
 * hold is named in it, so that whoever opens it is asked for it.
 */
import { kInitial, readState, type State, writeState } from "./state.js";

/** Longer texts are compressed, and an address has at most so many characters of a compressed one. */
const kPlain = 200;
const kMostPacked = 6000;
/** The most bytes that an address of strangers may unpack to. */
const kMostBytes = 1 << 20;

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

async function through(
  stream: ReadableWritablePair<Uint8Array, BufferSource>, bytes: BufferSource,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    pieces.push(Uint8Array.from(part.value));
    count += part.value.length;
    if (count > kMostBytes) throw new Error(`the address holds more than ${kMostBytes} bytes`);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

async function pack(text: string): Promise<string> {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(packed: string): Promise<string> {
  try {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(new DecompressionStream("deflate-raw"), bytes));
  } catch (error) {
    throw new Error("the address holds no readable text: was it cut off?", { cause: error });
  }
}

export function readAddress(hash: string): Address {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const packed = parameters.get(kPacked);
  const needs = (parameters.get(kNeeds) ?? "").split(",").filter((name) => /^\w+$/.test(name));
  return { state: readState(parameters), text: packed === null ? undefined : unpack(packed), needs };
}

/** Models and pictures that a reader gave to a page have names that mean nothing elsewhere. */
export const kGiven = "given:";
const isOnlyHere = (address: string | undefined): boolean => /^(given|blob):/.test(address ?? "");

/** Writes what differs from `usual`. A text that is too long is named instead, as is what only this page has. */
export async function writeAddress(state: Partial<State>, usual: Readonly<State> = kInitial): Promise<string> {
  const { text = "", ...others } = state;
  const isShort = text.length <= kPlain || text === usual.text;
  const missing = (["model", "image", "src"] as const).filter((name) => isOnlyHere(state[name]));
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !missing.some((other) => other === name)));
  const parameters = writeState(isShort && state.text !== undefined ? { text, ...rest } : rest, usual);
  const packed = isShort ? "" : await pack(text);
  const isHeld = packed.length <= kMostPacked;
  if (packed !== "" && isHeld) parameters.set(kPacked, packed);
  const needs = isHeld ? missing : ["text", ...missing];
  if (needs.length > 0) parameters.set(kNeeds, needs.join(","));
  return parameters.toString();
}
