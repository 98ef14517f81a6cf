// SPDX-License-Identifier: Apache-2.0
/** A matrix as a table of tinted numbers, which light up together with those that they come from. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { formatSum } from "../../maps/format.js";
import { symbols } from "../../views/matrix-table.js";
import { at } from "../../views/worked-example.js";
import type { Cells } from "../lesson.js";
import { tablesOf, type Table } from "../scene.js";
import { litWhole, type Hands, type Lit, type Look } from "./look.js";
import { largestMagnitude, toneOf } from "./tones.js";

/** A score of −∞ is that of a masked key. */
export const printedCell = (value: number, digits: number): string =>
  value === -Infinity ? "−∞" : formatSum(value, digits);

export function drawTable(item: Table, look: Look, hands: Hands, control: Cells | undefined): TemplateResult {
  const { matrix } = item;
  const { name, rows, cols, values } = matrix;
  const most = largestMagnitude(values);
  const stop = look.lit?.matrix === name ? look.lit : { row: 0, col: 0 };
  const cell = (row: number, col: number): TemplateResult => {
    const value = at(matrix, row, col);
    const isMasked = item.masked?.[row * cols.length + col] === true;
    const lit = isLit(item, row, col, look) ? "lit" : "";
    const marked = isMarked(item, row, col) ? "marked" : "";
    const tone = isMasked ? "masked" : toneOf(value, matrix.colormap, most);
    const text = printedCell(value, matrix.digits);
    const focus = !control && look.isAlive ? (row === stop.row && col === stop.col ? 0 : -1) : nothing;
    return html`<td class="${tone} ${lit} ${marked}" tabindex=${focus} data-row=${row} data-col=${col}>${
      control ? field(item, control, row, col, look, hands) : text
    }</td>`;
  };
  const point = (event: Event): void => {
    const found = event.target instanceof Element ? event.target.closest<HTMLElement>("td[data-row]") : null;
    if (found) hands.point({ matrix: name, row: Number(found.dataset.row), col: Number(found.dataset.col) });
  };
  const whole = litWhole(look, name);
  return html`
    <table class="matrix ${whole}" data-matrix=${name} @pointerover=${point} @focusin=${point} @keydown=${(event: KeyboardEvent): void => onKey(event, item, look, hands)}>
      <caption>${symbols(name)} <small>${rows.length} × ${cols.length}</small></caption>
      <thead><tr><td></td>${cols.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>${rows.map((label, row) => html`<tr>${label === "" ? html`<td></td>` : html`<th scope="row">${label}</th>`}${cols.map((_, col) => cell(row, col))}</tr>`)}</tbody>
    </table>
  `;
}

/** A number that can be typed, stepped with the arrow keys, and dragged up and down. */
function field(item: Table, control: Cells, row: number, col: number, look: Look, hands: Hands): TemplateResult {
  const { name, rows, cols } = item.matrix;
  const put = (value: number): void => {
    const bounded = Math.min(Math.max(value, control.min), control.max);
    const all = (look.values[item.control ?? ""] as Cells["value"]).map((cells, index) =>
      index === row ? cells.map((old, place) => (place === col ? bounded : old)) : cells);
    hands.change(item.control ?? "", all);
  };
  const value = (look.values[item.control ?? ""] as Cells["value"] | undefined)?.[row]?.[col] ?? 0;
  const typed = (event: Event): void => {
    const text = (event.target as HTMLInputElement).value;
    if (text !== "" && Number.isFinite(Number(text))) put(Number(text));
  };
  return html`<input type="number" min=${control.min} max=${control.max} step=${control.step} aria-label="${name}: ${rows[row] ?? ""}, ${cols[col] ?? ""}"
    ?disabled=${!look.isAlive} .value=${live(String(value))} @input=${typed} @pointerdown=${(event: PointerEvent): void => drag(event, value, control, put)} />`;
}

/** So many pixels of a drag are one step. */
const kPixelsPerStep = 6;

/** Follows a pointer that is pressed on a number. Up and right are more. A press that does not move only gives focus. */
function drag(start: PointerEvent, value: number, { step }: Cells, put: (value: number) => void): void {
  const field = start.currentTarget as HTMLInputElement;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  let moved = 0;
  const onMove = ({ clientX, clientY }: PointerEvent): void => {
    const steps = Math.round((clientX - start.clientX + start.clientY - clientY) / kPixelsPerStep);
    if (steps === moved) return;
    moved = steps;
    put(Number((value + steps * step).toFixed(digits)));
  };
  const onEnd = (): void => {
    field.removeEventListener("pointermove", onMove);
    field.removeEventListener("pointerup", onEnd);
    field.removeEventListener("pointercancel", onEnd);
  };
  field.setPointerCapture(start.pointerId);
  field.addEventListener("pointermove", onMove);
  field.addEventListener("pointerup", onEnd);
  field.addEventListener("pointercancel", onEnd);
}

const isMarked = ({ marked }: Table, row: number, col: number): boolean =>
  marked !== undefined && (marked.row < 0 || marked.row === row) && (marked.col < 0 || marked.col === col);

/** True for the cell that is pointed at, and for those that it comes from. */
function isLit({ matrix: { name } }: Table, row: number, col: number, { lit, scene }: Look): boolean {
  if (lit?.row === undefined || lit.col === undefined) return false;
  if (lit.matrix === name && lit.row === row && lit.col === col) return true;
  const from = tablesOf(scene.rows).find(({ matrix }) => matrix.name === lit.matrix)?.from;
  switch (from?.how) {
    case "product": return (from.left === name && row === lit.row) || (from.right === name && col === lit.col);
    case "each": return from.of === name && row === lit.row && col === lit.col;
    case "row": return from.of === name && row === lit.row;
    case "transposed": return from.of === name && row === lit.col && col === lit.row;
    case undefined: return false;
  }
}

function onKey(event: KeyboardEvent, { matrix, control }: Table, look: Look, hands: Hands): void {
  if (control !== undefined || event.altKey || event.metaKey || event.ctrlKey) return;
  const { row = 0, col = 0 } = look.lit?.matrix === matrix.name ? look.lit : {};
  const [lastRow, lastCol] = [matrix.rows.length - 1, matrix.cols.length - 1];
  const moves: Readonly<Record<string, Required<Omit<Lit, "matrix">>>> = {
    ArrowUp: { row: Math.max(row - 1, 0), col },
    ArrowDown: { row: Math.min(row + 1, lastRow), col },
    ArrowLeft: { row, col: Math.max(col - 1, 0) },
    ArrowRight: { row, col: Math.min(col + 1, lastCol) },
    Home: { row, col: 0 },
    End: { row, col: lastCol },
  };
  const to = moves[event.key];
  if (!to) return;
  event.preventDefault();
  hands.point({ matrix: matrix.name, ...to });
  const table = event.currentTarget as HTMLElement;
  table.querySelector<HTMLElement>(`td[data-row="${to.row}"][data-col="${to.col}"]`)?.focus();
}
