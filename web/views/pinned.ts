// SPDX-License-Identifier: Apache-2.0
/** The places that a view shows: those that are pinned, else the one under the cursor, else a telling one. */
import { kInitial } from "../state/state.js";
import type { Host } from "./view.js";

/** The first of the pinned places that a text of `count` tokens has. A shorter text has fewer, which is no error. */
export function pinnedIn(list: string, count: number): number | undefined {
  return list.split(/[\s,]+/).filter((word) => /^\d+$/.test(word)).map(Number).find((index) => index < count);
}

/** The query that is looked at: `usual` where none is chosen. */
export function queryOf({ state, cursor }: Host, count: number, usual: number): number {
  const pointed = cursor?.row;
  return pinnedIn(state.query, count) ?? (pointed !== undefined && pointed < count ? pointed : usual);
}

export function keyOf({ state, cursor }: Host, count: number, usual: number): number {
  const pointed = cursor?.col;
  return pinnedIn(state.key, count) ?? (pointed !== undefined && pointed < count ? pointed : usual);
}

/** Frees what is pinned. Returns false when nothing was. */
export function free(host: Host): boolean {
  const { query, key } = host.state;
  if (query === kInitial.query && key === kInitial.key) return false;
  host.change({ query: kInitial.query, key: kInitial.key });
  return true;
}
