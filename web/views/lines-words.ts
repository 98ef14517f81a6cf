// SPDX-License-Identifier: Apache-2.0
/** Lines in words: the share of the weight that they hold, and the links of a query in a table for screen readers. */
import { html } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import { tokenName } from "../maps/tokens.js";
import { headName } from "../state/lists.js";
import type { State } from "../state/state.js";
import type { Content, Drawn, HeadLink } from "./lines-content.js";
import { drawnOf, percent } from "./lines-links.js";

/** The heads that a combined map is made of, in words; undefined where each head is shown as it is. */
export function combinedInWords({ combine, heads, layer }: Readonly<State>): string | undefined {
  if (combine !== "mean" && combine !== "max") return undefined;
  const of = heads.trim() === "" ? `all heads of layer ${layer}` : heads.trim().split(/[\s,]+/).join(", ");
  return `${combine === "mean" ? "mean" : "largest"} of ${of}`;
}

/** The share of the weight of these rows that the drawn links hold. */
export function shareInWords(
  { links, maps }: Content, rows: readonly number[], isPart: boolean, col: number | undefined, drawn: Drawn,
  only: number | undefined, { hide, segments }: Readonly<State>,
): string {
  const whose = isPart ? " of the queries in sight" : "";
  const count = drawn.flat().length;
  if (col !== undefined)
    return `${count} ${count === 1 ? "link" : "links"}${whose} to ${tokenName(maps.keyTokens[col] ?? "")}`;
  let total = 0;
  links.heads.forEach((_, head) => {
    if (only === undefined || only === head) for (const row of rows) total += links.of(head, row)?.total ?? 0;
  });
  const held = drawn.flat().reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  if (total === 0) return "No weight is known here";
  const isHidden = hide.trim() !== "" || segments !== "all";
  return `Links drawn hold ${percent(held, total)} of the weight${whose}${isHidden ? " on the keys that are shown" : ""}`;
}

/** The links of one query in words and numbers. */
export function linksTable(
  { maps, links }: Content, row: number, { threshold, topK }: Readonly<State>, nameOf: (head: number) => string,
): TemplateResult {
  const lines = links.heads.flatMap((_, head): HeadLink[] => {
    const found = links.of(head, row);
    return found ? drawnOf(found, threshold, topK).map((link) => ({ head, link })) : [];
  });
  const line = ({ head, link }: HeadLink): TemplateResult =>
    html`<tr><td>${nameOf(head)}</td><td>${tokenName(maps.keyTokens[link.col] ?? "")} (${link.col})</td><td>${formatValue(link.weight)}</td></tr>`;
  return html`
    <div class="unseen"><table part="table">
      <caption>Links of ${tokenName(maps.tokens[row] ?? "")}</caption>
      <thead><tr><th scope="col">Head</th><th scope="col">Key</th><th scope="col">Weight</th></tr></thead>
      <tbody>${lines.map(line)}</tbody>
    </table></div>
  `;
}

/** The name of a head among those that are drawn. */
export const shownName = ({ links }: Content, head: number, state: Readonly<State>): string =>
  combinedInWords(state) ?? headName(links.heads[head] ?? state);
