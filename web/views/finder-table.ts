// SPDX-License-Identifier: Apache-2.0
/** The finder's table: a line for each head, a column for each metric, sorted by one of them. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MetricInfo } from "headlens";
import { formatValue } from "../maps/format.js";
import { kNoPattern } from "../heads/no-pattern.js";
import type { HeadNames } from "../heads/rules.js";
import { type AnyMetric, type Ranked, valueOf } from "../heads/ranking.js";
import { kScrolledStyles } from "./scrolled.js";

export interface Sorting {
  readonly by: AnyMetric | "head" | "name";
  readonly isDescending: boolean;
}

/** Longer tables are shown in pages. */
const kMostRows = 300;
export const kPageRows = 100;

/** The name of a metric as words: “entropyNormalized” is “entropy normalized”. */
export const metricWords = (metric: AnyMetric): string => metric.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export const headWord = ({ layer, head }: Pick<Ranked, "layer" | "head">): string => `${layer}.${head}`;

/** A value with three decimals; what is not defined has a dash. */
export function valueText(value: number | null): string {
  if (value === null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  return formatValue(size < 0.0005 ? 0 : value, size >= 100 ? 0 : size >= 10 ? 1 : 3);
}

/** True for a metric in which some heads differ. */
export function isTelling(heads: readonly Ranked[], metric: AnyMetric): boolean {
  const values = heads.map((head) => valueOf(head, metric)).filter((value) => value !== null);
  return values.some((value) => value !== values[0]);
}

export const nameIn = (names: HeadNames | undefined, { layer, head }: Ranked): string =>
  names?.[layer]?.[head]?.name ?? "";

/** The heads in the order of a column. Heads without a value come last in either direction. */
export function sorted(
  heads: readonly Ranked[], { by, isDescending }: Sorting, names: HeadNames | undefined,
): Ranked[] {
  const sign = isDescending ? -1 : 1;
  if (by === "head") return isDescending ? [...heads].reverse() : [...heads];
  const compareNames = (a: Ranked, b: Ranked): number => {
    const [first, second] = [nameIn(names, a), nameIn(names, b)];
    const isNameless = (name: string): boolean => name === "" || name === kNoPattern;
    return Number(isNameless(first)) - Number(isNameless(second)) || sign * first.localeCompare(second);
  };
  if (by === "name") return [...heads].sort(compareNames);
  return [...heads].sort((a, b) => {
    const [first, second] = [valueOf(a, by), valueOf(b, by)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return sign * (first - second);
  });
}

export interface Table {
  /** The heads of all pages, in the order in which they are shown. */
  readonly rows: readonly Ranked[];
  readonly heads: readonly Ranked[];
  readonly metrics: readonly AnyMetric[];
  readonly infos: ReadonlyMap<string, MetricInfo>;
  readonly names: HeadNames | undefined;
  readonly sorting: Sorting;
  readonly page: number;
  readonly marked: ReadonlySet<string>;
  readonly silenced: ReadonlySet<string>;
  /** The open head, the one that is the tab stop, and the one under the pointer. */
  readonly open: string;
  readonly stop: string;
  readonly hovered: string | undefined;
  sort(this: void, by: Sorting["by"]): void;
  turn(this: void, page: number): void;
  choose(this: void, head: Ranked, keys: { readonly shiftKey: boolean }): void;
  hover(this: void, head: Ranked | undefined): void;
}

export const pageCount = ({ length }: readonly unknown[]): number =>
  length > kMostRows ? Math.ceil(length / kPageRows) : 1;

/** The largest magnitude of each column, which is the whole length of its bars. */
function mostOf(heads: readonly Ranked[], metrics: readonly AnyMetric[]): ReadonlyMap<AnyMetric, number> {
  const most = (metric: AnyMetric): number =>
    heads.reduce((largest, head) => Math.max(largest, Math.abs(valueOf(head, metric) ?? 0)), 0);
  return new Map(metrics.map((metric) => [metric, most(metric)]));
}

export function finderTable(table: Table): TemplateResult {
  const { rows, heads, metrics, infos, page } = table;
  const pages = pageCount(rows);
  const shown = pages === 1 ? rows : rows.slice(page * kPageRows, (page + 1) * kPageRows);
  const most = mostOf(heads, metrics);
  const ofMetric = (metric: AnyMetric): string => `${infos.get(metric)?.formula ?? ""}\n${infos.get(metric)?.source ?? ""}`;
  return html`
    <div class="finder-scroll scrolled" tabindex="-1">
      <table part="table" class="finder-table">
        <caption class="unseen">Metrics of ${rows.length} heads</caption>
        <thead><tr>
          ${column(table, "head", "head", "The place of the head: its layer and its number")}
          ${column(table, "name", "name", "What the head does, where a threshold is reached")}
          ${metrics.map((metric) => column(table, metric, metricWords(metric), ofMetric(metric)))}
        </tr></thead>
        <tbody @pointerleave=${(): void => table.hover(undefined)}>${shown.map((head) => line(table, head, most))}</tbody>
      </table>
    </div>
    ${pages > 1 ? pager(table, pages) : nothing}
  `;
}

function column({ sorting, sort }: Table, by: Sorting["by"], name: string, title: string): TemplateResult {
  const isSorted = sorting.by === by;
  const direction = !isSorted ? nothing : sorting.isDescending ? "descending" : "ascending";
  const sign = !isSorted ? "" : sorting.isDescending ? "▼" : "▲";
  return html`<th scope="col" aria-sort=${direction}><button title=${title} @click=${(): void => sort(by)}>${name}&nbsp;<span aria-hidden="true">${sign}</span></button></th>`;
}

function line(table: Table, head: Ranked, most: ReadonlyMap<AnyMetric, number>): TemplateResult {
  const { metrics, names, marked, silenced, open, stop, hovered, choose, hover } = table;
  const word = headWord(head);
  const name = nameIn(names, head);
  const states = [word === open ? "open" : "", marked.has(word) ? "marked" : "", silenced.has(word) ? "silenced" : ""];
  const said = states.filter((state) => state !== "").join(", ");
  const signs = `${marked.has(word) ? "●" : ""}${silenced.has(word) ? "∅" : ""}`;
  const classes = `${said.replaceAll(",", "")} ${word === hovered ? "hovered" : ""}`;
  const cell = (metric: AnyMetric): TemplateResult => {
    const value = valueOf(head, metric);
    const largest = Math.max(most.get(metric) ?? 0, Number.MIN_VALUE);
    const bar = `--share: ${Math.abs(value ?? 0) / largest}`;
    return html`<td title=${exactly(head, metric)}>${valueText(value)}<i class=${(value ?? 0) < 0 ? "below" : ""} .style=${bar}></i></td>`;
  };
  return html`
    <tr class=${classes} @click=${(event: MouseEvent): void => choose(head, event)} @pointerenter=${(): void => hover(head)}>
      <th scope="row"><button data-head=${word} tabindex=${word === stop ? 0 : -1} aria-current=${word === open ? "true" : nothing}>${word}<span class="unseen">${said === "" ? "" : `, ${said}`}</span><span aria-hidden="true"> ${signs}</span></button></th>
      <td class=${name === kNoPattern ? "finder-name nameless" : "finder-name"}>${name}</td>
      ${metrics.map(cell)}
    </tr>
  `;
}

/** All digits of a value, and what it is a mean of. */
function exactly({ scores }: Ranked, metric: AnyMetric): string | typeof nothing {
  const score = scores[metric];
  if (!score) return nothing;
  const { mean, texts, nValid } = score;
  return mean === null ? "not defined on these texts" : `${mean}: the mean over ${texts} texts and ${nValid} rows`;
}

function pager({ page, rows, turn }: Table, pages: number): TemplateResult {
  const [begin, end] = [page * kPageRows + 1, Math.min((page + 1) * kPageRows, rows.length)];
  return html`
    <p class="finder-pager">
      <button ?disabled=${page === 0} @click=${(): void => turn(page - 1)}>‹ before</button>
      <span role="status">${begin}–${end} of ${rows.length}</span>
      <button ?disabled=${page >= pages - 1} @click=${(): void => turn(page + 1)}>next ›</button>
    </p>
  `;
}

export const tableStyles = css`
  ${kScrolledStyles}
  .finder-scroll {
    max-height: 560px;
    overflow: auto;
    border-bottom: 1px solid var(--line);
  }
  .finder-table {
    width: 100%;
    border-collapse: collapse;
    font: 12px/16px var(--mono);
  }
  .finder-table thead th {
    position: sticky;
    z-index: 1;
    top: 0;
    padding: 0;
    background: var(--paper);
    text-align: end;
    vertical-align: bottom;
  }
  .finder-table th:nth-child(-n + 2) {
    text-align: start;
  }
  .finder-table thead th:first-child {
    z-index: 2;
    inset-inline-start: 0;
  }
  .finder-table thead button {
    min-height: 28px;
    padding: 4px 6px;
    color: var(--faint);
    font: inherit;
    text-align: inherit;
  }
  .finder-table th[aria-sort] button {
    color: var(--ink);
    font-weight: 600;
  }
  .finder-table tbody th {
    position: sticky;
    inset-inline-start: 0;
    z-index: 1;
    padding: 0;
    background: inherit;
    font-weight: 400;
    white-space: nowrap;
  }
  .finder-table tbody th button {
    min-width: 44px;
    min-height: 24px;
    padding: 0 6px;
    text-align: start;
  }
  .finder-table tbody tr {
    border-top: 1px solid var(--line);
    background: var(--paper);
    cursor: pointer;
  }
  .finder-table td {
    position: relative;
    min-width: 64px;
    padding: 3px 6px 5px;
    background: none;
    color: inherit;
    text-align: end;
    white-space: nowrap;
  }
  .finder-table td.finder-name {
    max-width: 200px;
    overflow: hidden;
    font: 13px/16px system-ui, sans-serif;
    text-align: start;
    text-overflow: ellipsis;
  }
  .finder-table td.nameless {
    color: var(--faint);
  }
  .finder-table td i {
    position: absolute;
    inset-block-end: 1px;
    inset-inline-end: 6px;
    width: calc((100% - 12px) * var(--share));
    height: 2px;
    background: var(--faint);
  }
  .finder-table td i.below {
    height: 0;
    border-bottom: 2px dotted var(--faint);
    background: none;
  }
  .finder-table tr.open th button {
    color: var(--accent);
    font-weight: 600;
  }
  .finder-table tr.marked {
    background: color-mix(in oklab, var(--accent) 12%, var(--paper));
  }
  .finder-table tbody tr:hover,
  .finder-table tr.hovered {
    background: color-mix(in oklab, var(--ink) 10%, var(--paper));
  }
  .finder-pager {
    display: flex;
    align-items: center;
    gap: 8px;
    margin: 8px 0 0;
    font: 12px/16px var(--mono);
  }
  .finder-pager button {
    min-height: 28px;
    padding: 0 8px;
  }
  @media (pointer: coarse) {
    .finder-table thead button,
    .finder-table tbody th button,
    .finder-pager button {
      min-height: 44px;
    }
  }
`;
