// SPDX-License-Identifier: Apache-2.0
/** The events of `<attention-map>` with their details. All of them bubble and cross shadow roots. */
import type { Expected } from "../maps/expected.js";
import { wordsOf } from "../state/lists.js";
import type { State } from "../state/state.js";

export interface AttentionMapEvents {
  /** New pictures have been drawn. */
  "attention-draw": {
    view: string;
    /** The text that was read; empty for given arrays. */
    text: string;
    tokens: readonly string[];
    keyTokens: readonly string[];
    /** The number of tokens of the whole text. It exceeds `tokens` when the model has no positions for the rest. */
    tokenCount: number;
    layers: number;
    /** The number of heads of each layer; the largest, where they differ. */
    heads: number;
    /** The time from the inputs to the painted canvases. */
    milliseconds: number;
  };
  /** Nothing could be drawn. The element also shows the message. */
  "attention-error": { error: Error };
  /** The view `next` has drawn other predictions, which are those of the token in this row, the likeliest first. */
  "prediction": { row: number; token: string; predictions: readonly Expected[] };
  /** A head was chosen by click or key. It opens unless the event is prevented. */
  "head-select": { layer: number; head: number };
  /** The arrow keys moved to a head in the grid. */
  "head-focus": { layer: number; head: number };
  /** The reader asked to go back to all heads. The grid is shown unless the event is prevented. */
  "head-close": { layer: number; head: number };
  /**
   * The highlighted cell of the open head, and the colours (RGBA) of the cells in its row; null without a highlighted
   * cell, and while the row is still being computed.
   */
  "cell-change": { row: number | null; col: number | null; colors: Uint8ClampedArray | null };
  /** The reader changed the state of the element. One of the events below follows where it is one of these changes. */
  "state-change": { changes: Partial<State> };
  "view-change": { view: string; before: string };
  /** The reader pinned other rows, or another column, or freed them. */
  "pin-change": { queries: readonly number[]; key: number | null };
  /** The reader chose other heads to be shown together with the open one, as "3.2". */
  "selection-change": { heads: readonly string[] };
  "scale-change": { scale: string };
  /** The reader silenced other heads, as "3.2", or blanked other tokens. */
  "ablation": { heads: readonly string[]; tokens: readonly number[] };
}

/** Tells others of an event. Returns false when a listener prevented the default. */
export type Tell = <Name extends keyof AttentionMapEvents>(name: Name, detail: AttentionMapEvents[Name]) => boolean;

/** The events of an element with their types, those of every HTML element too. */
export type AttentionMapEventMap = HTMLElementEventMap & {
  readonly [Name in keyof AttentionMapEvents]: CustomEvent<AttentionMapEvents[Name]>;
};

/** Tells of what a reader changed: once for each kind of change, and not where everything stays as it was. */
export function tellChanges(before: Readonly<State>, now: Readonly<State>, tell: Tell): void {
  const isNew = (...names: readonly (keyof State)[]): boolean =>
    names.some((name) => !Object.is(before[name], now[name]));
  const { view, scale } = now;
  const numbers = (list: string): number[] => wordsOf(list).map(Number);
  if (isNew("view")) tell("view-change", { view, before: before.view });
  if (isNew("query", "key")) tell("pin-change", { queries: numbers(now.query), key: numbers(now.key)[0] ?? null });
  if (isNew("heads")) tell("selection-change", { heads: wordsOf(now.heads) });
  if (isNew("scale")) tell("scale-change", { scale });
  if (isNew("ablate", "zeroToken")) tell("ablation", { heads: wordsOf(now.ablate), tokens: numbers(now.zeroToken) });
}
