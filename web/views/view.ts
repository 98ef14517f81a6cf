// SPDX-License-Identifier: Apache-2.0
/** The interface between `<attention-map>` and its views. A view is one file, and one line in index.ts. */
import type { CSSResult, ReactiveControllerHost, TemplateResult } from "lit";
import type { Colors } from "../maps/canvas.js";
import type { ScaleChoice } from "../maps/scale.js";
import type { MapSource } from "../maps/source.js";
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
  readonly layer: number;
  head: number;
  causal: boolean;
  readonly scaleChoice: ScaleChoice;
  readonly example: WorkedExample;
  readonly colors: Colors;
  readonly room: Room;
  /** Called when `view` has something new to draw. */
  drawn(view: View): void;
  /** Called when a head was chosen, to be shown by the view `view`. */
  openHead(layer: number, head: number, view: string): void;
  /** Called when the open head shall be another. */
  showHead(layer: number, head: number): void;
  /** Called when the arrow keys moved to a head. */
  visitHead(layer: number, head: number): void;
  /** Called when the reader wants to go back to the view `view`. */
  closeHead(view: string): void;
  /** Called when the highlighted cell changed, or there is none. `colors` are those of its row, in RGBA. */
  visitCell(cell: Cell | undefined, colors: Uint8ClampedArray | undefined): void;
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
  render(): TemplateResult;
  /** Focuses what the keyboard moves in. */
  focus(): void;
  /** The heads whose maps are shown. */
  heads?(): readonly (readonly [layer: number, head: number])[];
  /** The matrices that are shown, for views that need no maps. */
  matrices?(): Readonly<Record<string, readonly (readonly number[])[]>>;
  /** Forgets the maps, which will be released. */
  clear?(): void;
}

export interface ViewKind {
  readonly name: string;
  /** True for views of maps, and false for those that need none. */
  readonly hasMaps: boolean;
  readonly styles: CSSResult;
  /** The properties of the element, besides those that decide the maps, that make `load` run again. */
  readonly watches: readonly ("layer" | "head" | "causal" | "example" | "colors")[];
  create(host: Host): View;
}
