// SPDX-License-Identifier: Apache-2.0
/** The interface between `<attention-map>` and its views. A view is one file, and one line in the list of views. */
import type { CSSResult, nothing, ReactiveControllerHost, TemplateResult } from "lit";
import type { HeadNames } from "../heads/rules.js";
import type { Colors } from "../maps/canvas.js";
import type { Expected, Step } from "../maps/expected.js";
import type { ScaleChoice } from "../maps/scale.js";
import type { MapSource, Part } from "../maps/source.js";
import type { Cursor } from "../state/group.js";
import type { State } from "../state/state.js";
import type { WorkedExample } from "./worked-example.js";

export interface Cell {
  readonly row: number;
  readonly col: number;
}

/** The space that the page gives the element, in pixels. */
export interface Room {
  readonly width: number;
  /** Infinity where the element is as high as it wants to be. */
  readonly height: number;
  /** True where there is no place for names and words. */
  readonly isCompact: boolean;
}

/** The element, as far as its views need it. */
export interface Host extends ReactiveControllerHost {
  readonly renderRoot: HTMLElement | DocumentFragment;
  /** The element's state now. */
  readonly state: Readonly<State>;
  /** Makes a change that the reader asked for, in this element and in those of its group. */
  change(changes: Partial<State>): void;
  /** The place under the pointer or the keyboard, in this element or in another of its group. */
  readonly cursor: Cursor | undefined;
  point(cursor: Cursor | undefined): void;
  /** "none", "minimal" or "full". */
  readonly controls: string;
  readonly scaleChoice: ScaleChoice;
  /** The names of the heads, as [layer][head], which come after the maps. They describe the unchanged model. */
  readonly names: HeadNames | undefined;
  readonly example: WorkedExample | undefined;
  readonly colors: Colors;
  readonly room: Room;
  /** Adds the styles of a part of the view that was loaded later. */
  addStyles(styles: CSSResult): void;
  /** Called when `view` has something new to draw. */
  drawn(view: View): void;
  /** Called when a head was chosen, to be shown by the view `view`. */
  openHead(layer: number, head: number, view: string): void;
  /** Called when the open head shall be another. */
  showHead(layer: number, head: number): void;
  /** Called when the arrow keys moved to a head. */
  visitHead(layer: number, head: number): void;
  /** Silences a head of the shown attention, or lets it speak again. */
  silence(layer: number, head: number): void;
  /** Called when the reader wants to go back to all heads. */
  closeHead(): void;
  /** Called when the highlighted cell changed, or there is none. `colors` are those of its row, in RGBA. */
  visitCell(cell: Cell | undefined, colors: Uint8ClampedArray | undefined): void;
  /** Called when other predictions are drawn, which are those of a row. */
  predicted(row: number, token: string, predictions: readonly Expected[]): void;
  /** Called when something that was asked for later cannot be computed. */
  fail(error: unknown): void;
}

export interface View {
  /**
   * Fetches what is drawn of these maps, which are absent for views that need none. It resolves when all has been
   * drawn; before that, parts may be. What was drawn before stays until there is something new. Rejects when there is
   * nothing to draw, or when `signal` ends it.
   */
  load(maps: MapSource | undefined, signal: AbortSignal): Promise<void>;
  /** Fetches what `load` will draw of these maps, for a reader who is about to open the view. What is drawn stays. */
  prepare?(maps: MapSource): Promise<void>;
  render(): TemplateResult;
  /** Buttons of this view, which stand in the bar of the open head. */
  tools?(): TemplateResult | typeof nothing;
  /** Focuses what the keyboard moves in. */
  focus(): void;
  /** The heads whose maps are shown. */
  heads?(): readonly (readonly [layer: number, head: number])[];
  /** The matrices that are shown, for views that need no maps. */
  matrices?(): Readonly<Record<string, readonly (readonly number[])[]>>;
  /** Shows a part as large as it can be, in tokens of the text as it is. Throws an Error that says what does not fit. */
  zoomTo?(part: Part): void;
  /** Reads one token further. Rejects when there is none. */
  step?(): Promise<Step>;
  /** Forgets the maps, which will be released. */
  clear?(): void;
}

/** The code of a view, which is loaded when the view is first shown. */
export interface ViewCode {
  readonly styles: CSSResult;
  create(this: void, host: Host): View;
}

export interface ViewKind {
  readonly name: string;
  /** The name that readers see. */
  readonly title: string;
  /** Its content: maps of any source, those of a model's run, or neither. */
  readonly needs: "maps" | "run" | "nothing";
  /** Of views that not all models have: true for maps of a model that does. */
  isFor?(this: void, maps: MapSource): boolean;
  /** True for views of the open head, which share a bar with its name. */
  readonly isOfHead?: boolean;
  /** True for a view in which a reader can write a text, so that it is also shown without one. */
  readonly isEditor?: boolean;
  /** True for views that show maps merged, filtered or combined, as the state says. */
  readonly isShaped?: boolean;
  /** True for shaped views that leave out small weights themselves, and say how much these are. */
  readonly leavesOut?: boolean;
  /** The parts of the state, besides those that decide the maps, that make `load` run again. */
  readonly watches: readonly (keyof State | "example" | "colors")[];
  /** Loads the code. A view that is always there has it already. */
  readonly code: ViewCode | (() => Promise<ViewCode>);
}
