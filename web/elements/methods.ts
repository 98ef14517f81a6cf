// SPDX-License-Identifier: Apache-2.0
/** Methods of the element that give numbers to a script, or take what it asks for. They are loaded when first called. */
import { numbersOf } from "../export/numbers.js";
import { checkHead, type MapSource, piecesOf } from "../maps/source.js";
import { kInitial, type State } from "../state/state.js";

/** The map of a head. All of it are copies, which belong to the caller. */
export interface HeadMap {
  /** The weights row by row: 0 where they are masked, and NaN where they are not known. */
  readonly data: Float32Array;
  readonly shape: [queries: number, keys: number];
  readonly tokens: string[];
  readonly keyTokens: string[];
}

/** A head with one of its metrics; null where the metric is not defined. */
export interface HeadValue {
  readonly layer: number;
  readonly head: number;
  readonly value: number | null;
}

export async function mapOf(maps: MapSource | undefined, layer: number, head: number): Promise<HeadMap> {
  if (!maps) throw new Error("getMap: this view has no maps of heads");
  checkHead(maps, layer, head);
  const { rows: tokens, cols: keyTokens } = piecesOf(maps);
  const { values: [values] } = await numbersOf(maps, [[layer, head]]);
  const shape: HeadMap["shape"] = [tokens.length, keyTokens.length];
  return { data: Float32Array.from(values ?? []), shape, tokens: [...tokens], keyTokens: [...keyTokens] };
}

/** The state in which these rows and this column are pinned. */
export function pinsOf(
  maps: MapSource | undefined, query: number | readonly number[] | undefined, key: number | undefined,
): Pick<State, "query" | "key"> {
  if (!maps) throw new Error("pin: this view has no maps of heads");
  const check = (name: string, value: number, { length }: readonly string[]): string => {
    if (!Number.isInteger(value) || value < 0 || value >= length)
      throw new Error(`pin: ${name} is ${value}, expected a token from 0 to ${length - 1}`);
    return String(value);
  };
  const queries = query === undefined ? [] : typeof query === "number" ? [query] : query;
  return {
    query: queries.map((one) => check("query", one, maps.tokens)).join(" "),
    key: key === undefined ? kInitial.key : check("key", key, maps.keyTokens),
  };
}
