// SPDX-License-Identifier: Apache-2.0
/** Values of JSON that anyone may have written. */
import { kAccepted, kMaxText, show } from "./limits.js";

/** The members of a JSON object. What it has not is undefined, so that nothing is taken from a prototype. */
export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.assign(Object.create(null) as Record<string, unknown>, value);
}

/** Decodes text. Throws an Error where it is too long or is not UTF-8. */
export function textOf(file: string, bytes: Uint8Array): string {
  if (bytes.length > kMaxText) throw new Error(`${file} has ${bytes.length} bytes of text, expected at most ${kMaxText}`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`${file} is neither of a known format nor text in UTF-8, expected ${kAccepted}`, { cause });
  }
}

export function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Reads names of tokens, of which texts are taken before ids. */
export function tokensOf(place: string, ...lists: readonly unknown[]): readonly string[] | undefined {
  const given = lists.filter((list) => list !== undefined && list !== null);
  const isText = (list: unknown): boolean => Array.isArray(list) && list.every((token) => typeof token === "string");
  const tokens: unknown = given.find(isText) ?? given[0];
  if (tokens === undefined) return undefined;
  const isToken = (token: unknown): token is string | number => typeof token === "string" || typeof token === "number";
  if (!Array.isArray(tokens) || !tokens.every(isToken)) throw new Error(`${place} is ${show(tokens)}, expected a list of texts or ids`);
  return tokens.map(String);
}
