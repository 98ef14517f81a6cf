// SPDX-License-Identifier: Apache-2.0
/** A matrix as a table whose cells are tinted and can be lit up. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { tintStyle } from "../maps/ink.js";
import { tokenLabel } from "../maps/tokens.js";
import { at, printed } from "./worked-example.js";
import type { Matrix } from "./worked-example.js";

/** `stop` gives the tab index of a cell, for tables whose cells can be focused. */
export function matrixTable(
  matrix: Matrix,
  isLit: (row: number, col: number) => boolean,
  stop?: (row: number, col: number) => number,
): TemplateResult {
  const cell = (row: number, col: number): TemplateResult => {
    const value = at(matrix, row, col);
    const first = (row * matrix.cols.length + col) * 4;
    const tint = tintStyle(matrix.tint?.data.subarray(first, first + 4) ?? []);
    const classes = `${tint === "" ? "hidden" : ""} ${isLit(row, col) ? "lit" : ""}`;
    return html`<td class=${classes} .style=${tint} tabindex=${stop?.(row, col) ?? nothing} data-row=${row} data-col=${col}>${printed(value, matrix.digits)}</td>`;
  };
  const widest = Math.max(...Array.from(matrix.values, (value) => printed(value, matrix.digits).length));
  return html`
    <table class="matrix" part="table" .style=${`--chars: ${widest}`}>
      <caption>${symbols(matrix.name)} <small>${matrix.rows.length} × ${matrix.cols.length}</small></caption>
      <thead><tr><td></td>${matrix.cols.map((name) => html`<th scope="col">${tokenLabel(name)}</th>`)}</tr></thead>
      <tbody>
        ${matrix.rows.map((name, row) => html`<tr><th scope="row">${tokenLabel(name)}</th>${matrix.cols.map((_, col) => cell(row, col))}</tr>`)}
      </tbody>
    </table>
  `;
}

/** Shows W_q with a subscript q. */
export const symbols = (text: string): (string | TemplateResult)[] =>
  text.split(/_(\w)/).map((part, index) => (index % 2 === 1 ? html`<sub>${part}</sub>` : part));

export const kMatrixStyles = css`
  .matrix {
    border-collapse: separate;
    border-spacing: 1px;
    font: 12px/16px var(--mono);
    font-variant-numeric: tabular-nums;
  }
  .matrix caption {
    padding-bottom: 4px;
    color: var(--ink);
    text-align: start;
  }
  .matrix caption small {
    color: var(--faint);
    font-size: inherit;
  }
  .matrix th {
    padding: 0 8px 0 0;
    color: var(--faint);
    font-weight: 400;
    text-align: end;
  }
  .matrix tbody td {
    min-width: calc(var(--chars) * 1ch + 12px);
    height: 32px;
    padding: 0 6px;
    border-radius: 2px;
    background: var(--tint);
    color: var(--ink-on-tint);
    text-align: end;
  }
  .matrix td.hidden {
    background: var(--hatch);
    color: var(--ink);
  }
  .matrix td.lit {
    outline: 2px solid var(--ink);
    outline-offset: -1px;
    box-shadow: inset 0 0 0 2px var(--paper);
  }
  sub {
    font-size: 0.8em;
    line-height: 0;
  }
`;
