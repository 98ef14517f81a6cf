// SPDX-License-Identifier: Apache-2.0
/** A score as a table of parts: those of the query by those of the key, in groups that open into single parts. */
import type { CellExplanation, StreamPart } from "headlens";
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { Colors } from "../maps/canvas.js";
import { formatSum } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import { paletteOf } from "../maps/palette.js";
import { groupsOf, type Naming, partName, type Side } from "../maps/parts.js";
import { codeIn } from "../maps/scale.js";

/** One row or column: a group of parts, or a single part of a group that is open. */
export interface Entry {
  readonly name: string;
  readonly members: readonly number[];
  /** Its sum over the whole other side. */
  readonly sum: number;
  /** True while the group's parts are shown after it; undefined for a single part. */
  readonly isOpen?: boolean;
  readonly isMember: boolean;
  /** The part, where there is only one. */
  readonly part?: StreamPart | undefined;
}

/** Everything that the table shows. */
export interface PartsTable {
  readonly rows: readonly Entry[];
  readonly cols: readonly Entry[];
  /** The sums of the terms of each row and column. */
  readonly values: readonly (readonly number[])[];
  /** The sum of all terms. */
  readonly sum: number;
  /** The largest magnitude among the groups, where the colours end. */
  readonly most: number;
}

interface Summed {
  readonly sum: number;
}

const byMagnitude = (a: Summed, b: Summed): number => Math.abs(b.sum) - Math.abs(a.sum);

const total = (members: readonly number[], sums: ArrayLike<number>): number =>
  members.reduce((sum, index) => sum + (sums[index] ?? 0), 0);

/** Groups, those that add most first, and after each open one its parts in the same order. */
function entriesOf(
  parts: readonly StreamPart[], sums: ArrayLike<number>, naming: Naming, open: ReadonlySet<string>,
): Entry[] {
  const groups = groupsOf(parts, naming).map((group) => ({ ...group, sum: total(group.members, sums) }));
  return groups.sort(byMagnitude).flatMap(({ name, members, sum }) => {
    const [first = 0] = members;
    if (members.length === 1) return [{ name, members, sum, isMember: false, part: parts[first] }];
    const isOpen = open.has(`${naming.side} ${name}`);
    const group = { name, members, sum, isOpen, isMember: false };
    if (!isOpen) return [group];
    const single = (index: number): Entry => {
      const part = parts[index] as StreamPart;
      return { name: partName(part, naming), members: [index], sum: sums[index] ?? 0, isMember: true, part };
    };
    return [group, ...members.map(single).sort(byMagnitude)];
  });
}

/** The table of a score. `open` has the groups that are open, as "query heads of layer 0". */
export function partsTable(
  { terms, queryParts, keyParts }: CellExplanation, naming: Readonly<Record<Side, Naming>>, open: ReadonlySet<string>,
): PartsTable {
  const width = keyParts.length;
  const byQuery = new Float64Array(queryParts.length);
  const byKey = new Float64Array(width);
  terms.data.forEach((term, index) => {
    byQuery[Math.floor(index / width)] = (byQuery[Math.floor(index / width)] ?? 0) + term;
    byKey[index % width] = (byKey[index % width] ?? 0) + term;
  });
  const rows = entriesOf(queryParts, byQuery, naming.query, open);
  const cols = entriesOf(keyParts, byKey, naming.key, open);
  const value = (row: Entry, col: Entry): number =>
    row.members.reduce((sum, a) => sum + col.members.reduce((of, b) => of + (terms.data[a * width + b] ?? 0), 0), 0);
  const values = rows.map((row) => cols.map((col) => value(row, col)));
  const most = Math.max(0, ...values.flat().map(Math.abs));
  return { rows, cols, values, sum: byQuery.reduce((sum, of) => sum + of, 0), most };
}

/** The decimals that tell numbers up to `most` apart. */
export const digitsFor = (most: number): number => (most >= 100 ? 0 : most >= 20 ? 1 : most >= 0.5 ? 2 : 3);

/** The colour of a signed number among those up to `most`. */
export function tintOf(value: number, most: number, { theme, ends }: Colors): string {
  const { bytes } = paletteOf("diverging", theme, ends);
  const code = codeIn("linear", value, most > 0 ? most : 1);
  return tintStyle(bytes.subarray(4 * code, 4 * code + 4));
}

export interface TableActions {
  toggle(side: Side, entry: Entry): void;
  /** True for parts that another head wrote, which `show` opens. */
  isHead(part: StreamPart): boolean;
  show(side: Side, part: StreamPart): void;
}

/** `stop` is the button that is the tab stop among all of the table. */
export function tableOf(
  { rows, cols, values, most }: PartsTable, caption: string, colors: Colors, stop: number, actions: TableActions,
): TemplateResult {
  const digits = digitsFor(most);
  let count = 0;
  const name = (side: Side, entry: Entry): TemplateResult => {
    const { part, isOpen } = entry;
    const isButton = isOpen !== undefined || (part !== undefined && actions.isHead(part));
    if (!isButton) return html`<span class="why-name">${entry.name}</span>`;
    const act = (): void => (isOpen === undefined && part ? actions.show(side, part) : actions.toggle(side, entry));
    const index = count++;
    return html`<button
      class="why-name" data-stop=${index} tabindex=${index === stop ? 0 : -1} @click=${act}
      aria-expanded=${isOpen === undefined ? nothing : isOpen ? "true" : "false"}
      title=${isOpen === undefined ? "Open this head" : nothing}
    >${entry.name}${isOpen === undefined ? html` <span aria-hidden="true">↗</span>` : html` <span aria-hidden="true">${isOpen ? "▾" : "▸"}</span>`}</button>`;
  };
  const cell = (value: number, isInner: boolean): TemplateResult =>
    html`<td class=${isInner ? "why-inner" : ""} .style=${tintOf(value, most, colors)}>${formatSum(value, digits)}</td>`;
  const kind = ({ isMember }: Entry): string => (isMember ? "why-member" : "");
  return html`
    <table class="why-table" aria-label=${caption}>
      <thead>
        <tr>
          <td class="why-corner"><span>query ↓ key →</span></td>
          ${cols.map((col) => html`<th scope="col" class=${kind(col)}>${name("key", col)}</th>`)}
          <th scope="col" class="why-sum">sum</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map((row, index) => html`<tr>
          <th scope="row" class=${kind(row)}>${name("query", row)}</th>
          ${cols.map((col, at) => cell(values[index]?.[at] ?? 0, row.isMember || col.isMember))}
          <td class="why-sum">${formatSum(row.sum, digits)}</td>
        </tr>`)}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" class="why-sum">sum</th>
          ${cols.map((col) => html`<td class="why-sum">${formatSum(col.sum, digits)}</td>`)}
          <td class="why-sum why-total">${formatSum(rows.reduce((sum, row) => sum + (row.isMember ? 0 : row.sum), 0), digits)}</td>
        </tr>
      </tfoot>
    </table>
  `;
}
