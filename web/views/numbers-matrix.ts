// SPDX-License-Identifier: Apache-2.0
/** Whole matrices behind the steps of a head: a small one as a table, a large one as a picture with an exact readout. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { type Colors, draw, type Look, lookOf, rowColors } from "../maps/canvas.js";
import { type CellMask, kOpen } from "../maps/mask.js";
import type { Picture } from "../maps/source.js";
import { formatOn } from "../maps/scale.js";
import { tokenName } from "../maps/tokens.js";
import { exact } from "./map.js";
import { kMatrixStyles, matrixTable } from "./matrix-table.js";
import type { Cell, Host } from "./view.js";
import type { Matrix } from "./worked-example.js";

/** The most cells and columns of a table. */
const kTableCells = 400;
const kTableCols = 20;
/** The longest side of a picture, and the most pixels for a cell. */
const kMostSide = 480;
const kMostCell = 24;

/** A matrix with its colours, which are made once. */
export interface OpenMatrix {
  readonly matrix: Matrix;
  readonly picture: Picture;
  readonly look: Look;
  /** The names of what rows and columns are. */
  readonly kinds: readonly [row: string, col: string];
}

export function openMatrix(
  plain: Omit<Matrix, "tint">, kinds: OpenMatrix["kinds"], mask: CellMask | undefined, colors: Colors,
): OpenMatrix {
  const size = [plain.rows.length, plain.cols.length] as const;
  const most = plain.values.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const isShare = plain.colormap === "sequential";
  const max = most > 0 ? (isShare ? Math.max(most, 1) : most) : 1;
  const scale = { kind: "fixed", colormap: plain.colormap, min: isShare ? 0 : -max, max } as const;
  const look = lookOf(scale, mask ?? kOpen, colors);
  const picture = { part: { rows: [0, size[0]], cols: [0, size[1]] }, size, values: plain.values } as const;
  const isTable = size[0] * size[1] <= kTableCells && size[1] <= kTableCols;
  const tint = isTable ? { data: rowColors(picture, look), width: size[1], height: size[0] } : undefined;
  return { matrix: { ...plain, ...(tint && { tint }) }, picture, look, kinds };
}

/** Shows opened matrices, and knows the highlighted cell of each that is a picture. */
export class MatrixPanels {
  readonly #cells = new Map<string, Cell>();

  constructor(private readonly host: Host) {}

  /** `marked` is the row of the pair. */
  render(
    { matrix, picture, look, kinds }: OpenMatrix, marked: number, isLit: (row: number, col: number) => boolean,
  ): TemplateResult {
    if (matrix.tint) {
      return html`<div class="num-scroll scrolled" tabindex="0" role="group" aria-label=${`${matrix.name}, ${matrix.rows.length} × ${matrix.cols.length}`}>${matrixTable(matrix, isLit)}</div>`;
    }
    const [rows, cols] = picture.size;
    const side = Math.min(kMostCell, kMostSide / Math.max(rows, cols));
    const cell = this.#cells.get(matrix.name);
    const at = cell && `--x: ${(100 * cell.col) / cols}%; --y: ${(100 * cell.row) / rows}%; --w: ${100 / cols}%; --h: ${100 / rows}%`;
    const about = `${matrix.name}: ${rows} × ${cols} numbers from ${formatOn(look.scale, look.scale.min)} to ${formatOn(look.scale, look.scale.max)}. Arrow keys move the cell.`;
    const point = (event: PointerEvent): void => this.#point(event, matrix);
    return html`
      <output class="num-exact" aria-live="polite">${cell ? this.#readout(matrix, kinds, cell) : html`Point at a cell, or use the arrow keys, for its exact value.`}</output>
      <div class="num-picture" role="application" aria-roledescription="matrix" aria-label=${about} tabindex="0"
        .style=${`width: ${Math.max(cols * side, 48)}px; aspect-ratio: ${Math.max(cols * side, 48)} / ${Math.max(rows * side, 48)}`}
        @pointermove=${point} @pointerdown=${point} @keydown=${(event: KeyboardEvent): void => this.#onKey(event, matrix)}>
        <canvas ${draw(picture, look)}></canvas>
        <span class="num-mark" .style=${`--y: ${(100 * marked) / rows}%; --h: ${100 / rows}%`}></span>
        ${at ? html`<span class="num-cell" .style=${at}></span>` : nothing}
      </div>
    `;
  }

  #readout({ rows, cols, values }: Matrix, [rowKind, colKind]: OpenMatrix["kinds"], { row, col }: Cell): string {
    const name = (kind: string, text: string): string => `${kind} ${kind === "dimension" ? text : tokenName(text)}`;
    return `${name(rowKind, rows[row] ?? "")}, ${name(colKind, cols[col] ?? "")}: ${exact(values[row * cols.length + col] ?? NaN)}`;
  }

  #move({ name, rows, cols }: Matrix, to: Cell): void {
    const inside = (at: number, count: number): number => Math.max(0, Math.min(at, count - 1));
    this.#cells.set(name, { row: inside(to.row, rows.length), col: inside(to.col, cols.length) });
    this.host.requestUpdate();
  }

  #point(event: PointerEvent, matrix: Matrix): void {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
    const row = Math.floor(((event.clientY - top) / height) * matrix.rows.length);
    this.#move(matrix, { row, col: Math.floor(((event.clientX - left) / width) * matrix.cols.length) });
  }

  #onKey(event: KeyboardEvent, matrix: Matrix): void {
    const { row, col } = this.#cells.get(matrix.name) ?? { row: 0, col: 0 };
    const moves: Readonly<Record<string, Cell>> = {
      ArrowUp: { row: row - 1, col },
      ArrowDown: { row: row + 1, col },
      ArrowLeft: { row, col: col - 1 },
      ArrowRight: { row, col: col + 1 },
      Home: { row, col: 0 },
      End: { row, col: matrix.cols.length - 1 },
    };
    const to = moves[event.key];
    if (!to || event.altKey || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    this.#move(matrix, to);
  }
}

export const kPanelStyles = css`
  ${kMatrixStyles}
  .num-scroll {
    max-width: 100%;
    max-height: 480px;
    overflow: auto;
  }
  .num-exact {
    display: block;
    min-height: 24px;
    font: 12px/24px var(--mono);
  }
  .num-picture {
    position: relative;
    max-width: 100%;
    background: var(--hatch);
    cursor: crosshair;
    direction: ltr;
  }
  .num-mark {
    position: absolute;
    top: var(--y);
    left: 0;
    width: 100%;
    height: max(var(--h), 3px);
    outline: 1px solid var(--accent);
    pointer-events: none;
  }
  .num-cell {
    position: absolute;
    top: var(--y);
    left: var(--x);
    width: max(var(--w), 3px);
    height: max(var(--h), 3px);
    outline: 2px solid var(--accent);
    box-shadow: 0 0 0 3px var(--paper);
    pointer-events: none;
  }
`;
