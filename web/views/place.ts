// SPDX-License-Identifier: Apache-2.0
/** The row and the column that a view of a head explains. */
import { checkHead, type MapSource, overviewOf } from "../maps/source.js";
import { strongestRow } from "../maps/words.js";
import { pinnedCol, pinnedRows, placeOf } from "../state/pins.js";
import { kInitial } from "../state/state.js";
import type { Cursor } from "../state/group.js";
import type { Host } from "./view.js";

/** A head, and the place that was chosen in it. */
export interface HeadPlace {
  readonly layer: number;
  readonly head: number;
  readonly row?: number | undefined;
  readonly col?: number | undefined;
}

/** The pinned row and column come first, then those under the cursor, unless that is `own`, which this view made itself. */
export function chosenPlace(maps: MapSource, { state, cursor }: Host, own?: Cursor): HeadPlace {
  const { layer, head } = state;
  const pointed = cursor === own ? {} : placeOf(maps, cursor, state);
  const row = pinnedRows(maps, state).at(-1);
  const col = pinnedCol(maps, state) ?? (row === undefined || pointed.row === row ? pointed.col : undefined);
  return { layer, head, row: row ?? pointed.row, col };
}

/** The chosen row, or the one with the strongest link of the head. */
export async function rowOf(maps: MapSource, { layer, head, row }: HeadPlace): Promise<number> {
  checkHead(maps, layer, head);
  if (row !== undefined) return row;
  return strongestRow(await overviewOf(maps, layer, head)) ?? maps.tokens.length - 1;
}

/** Acts on the keys that views of a head share: `s` silences the head, `p` pins the shown place, Escape frees it. */
export function onPlaceKey(
  event: KeyboardEvent, host: Host, shown: { readonly row: number; readonly col?: number | undefined },
): void {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return;
  const { state } = host;
  if (event.key === "Escape" && free(host)) event.preventDefault();
  const actions: Readonly<Record<string, () => void>> = {
    s: () => host.silence(state.layer, state.head),
    p: () => host.change({ query: String(shown.row), ...(shown.col !== undefined && { key: String(shown.col) }) }),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** Frees what is pinned. Returns false when nothing was. */
export function free(host: Host): boolean {
  const { query, key } = host.state;
  if (query === kInitial.query && key === kInitial.key) return false;
  host.change({ query: kInitial.query, key: kInitial.key });
  return true;
}

/** The chosen row: `usual` where none is chosen. */
export const queryOf = (maps: MapSource, host: Host, usual: number): number => chosenPlace(maps, host).row ?? usual;

/** The chosen column. */
export const keyOf = (maps: MapSource, host: Host, usual: number): number => chosenPlace(maps, host).col ?? usual;
