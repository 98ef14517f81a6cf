// SPDX-License-Identifier: Apache-2.0
/** The names of a map's rows and columns beside and above it, and the lines through the place that is looked at. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MapSource, Range } from "../maps/source.js";
import { tokenLabel, tokenWidth } from "../maps/tokens.js";
import { shownPart, shownSize, type Viewport } from "../maps/viewport.js";
import type { Cursor } from "../state/group.js";

/** Sizes of labels in pixels. */
const kLabelHeight = 14;
const kCharWidth = 7.3;
const kMaxChars = 12;
/** Column labels are tilted by 60°. For each pixel of length they take this much space upwards and to the right. */
const kLean = { up: 0.87, right: 0.5 };

/** The space that labels take on the sides of a map, in pixels. */
export interface Margins {
  readonly left: number;
  readonly top: number;
  readonly right: number;
}

export function marginsOf({ tokens, keyTokens }: MapSource): Margins {
  const [row, col] = [labelLength(tokens), labelLength(keyTokens)];
  return { left: Math.ceil(Math.max(row, 56)), top: Math.ceil(col * kLean.up + 8), right: col * kLean.right };
}

export function axes({ tokens, keyTokens }: MapSource, view: Viewport, { row, col }: Cursor): TemplateResult {
  return html`
    <div class="axes" part="axis" aria-hidden="true"><span class="key">key →</span><span class="query">query ↓</span></div>
    ${labels("cols", keyTokens, view, col)} ${labels("rows", tokens, view, row)}
  `;
}

/**
 * Shows only every second, third, … label of what is seen where labels would overlap. The highlighted one is always
 * shown, and its neighbours are left out.
 */
function labels(axis: "rows" | "cols", tokens: readonly string[], view: Viewport, chosen: number | undefined): TemplateResult {
  const every = Math.ceil(kLabelHeight / view.cell);
  const [begin, end] = shownPart(view)[axis];
  const indexes = new Set<number>();
  for (let index = Math.ceil(begin / every) * every; index < end; index += every) indexes.add(index);
  if (chosen !== undefined && chosen >= begin && chosen < end) {
    for (const index of [...indexes]) if (Math.abs(index - chosen) < every) indexes.delete(index);
    indexes.add(chosen);
  }
  const origin = axis === "rows" ? view.row : view.col;
  const space = shownSize(view)[axis === "rows" ? "height" : "width"];
  const label = (index: number): TemplateResult | typeof nothing => {
    const at = (index + 0.5 - origin) * view.cell;
    if (at < 0 || at > space) return nothing;
    return html`<span part="label" class="label ${index === chosen ? "chosen" : ""}" .style=${`--at: ${at}px`}>${tokenLabel(tokens[index] ?? "")}</span>`;
  };
  return html`<div class=${axis} aria-hidden="true">${[...indexes].sort((a, b) => a - b).map(label)}</div>`;
}

function labelLength(tokens: readonly string[]): number {
  let longest = 2;
  for (const token of tokens) {
    if (longest >= kMaxChars) break;
    longest = Math.max(longest, tokenWidth(token));
  }
  return Math.min(longest, kMaxChars) * kCharWidth + 10;
}

/** The row, the column and the cell of a place, as far as they are seen. */
export function highlight({ row, col }: Cursor, view: Viewport): TemplateResult | typeof nothing {
  const { rows, cols } = shownPart(view);
  const isSeen = (at: number | undefined, [begin, end]: Range): boolean => at !== undefined && at >= begin && at < end;
  const [isRow, isCol] = [isSeen(row, rows), isSeen(col, cols)];
  if ((row !== undefined && !isRow) || (col !== undefined && !isCol)) return nothing;
  const side = Math.max(view.cell, 1);
  const at = `--y: ${((row ?? 0) - view.row) * view.cell}px; --x: ${((col ?? 0) - view.col) * view.cell}px; --cell: ${side}px`;
  const line = (name: string): TemplateResult => html`<div class=${name} part="crosshair" .style=${at}></div>`;
  return html`${isRow ? line("across") : nothing} ${isCol ? line("down") : nothing} ${isRow && isCol ? line("cell") : nothing}`;
}
