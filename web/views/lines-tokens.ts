// SPDX-License-Identifier: Apache-2.0
/** The tokens between which lines are drawn: buttons in a column or in a line, of which only those in sight are written. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { formatValue } from "../maps/format.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import type { Axis, Content } from "./lines-content.js";

/** The number beside a token: the weight of its strongest link to the chosen one. */
export interface Beside {
  readonly weight: number;
  /** The name of the link's head, where there are several. */
  readonly head: string;
  readonly tint: string;
}

export interface LineTokens {
  readonly content: Content;
  readonly axis: Axis;
  readonly isArcs: boolean;
  /** The tokens [begin, end) in sight. */
  readonly inSight: readonly [begin: number, end: number];
  readonly rowHeight: number;
  /** The token that is the tab stop. */
  readonly stop: number;
  readonly pinned: ReadonlySet<number>;
  readonly chosen: ReadonlySet<number>;
  readonly beside: ReadonlyMap<number, Beside>;
  point(this: void, index: number): void;
  click(this: void, event: MouseEvent): void;
}

export function lineTokens(all: LineTokens): TemplateResult {
  const { content: { maps }, axis, stop, inSight: [begin, end] } = all;
  const tokens = axis === "row" ? maps.tokens : maps.keyTokens;
  const shown = Array.from({ length: end - begin }, (_, index) => begin + index);
  if (stop < begin || stop >= end) shown.push(stop);
  const label = axis === "row" ? "Tokens that look (queries)" : "Tokens that are looked at (keys)";
  return html`<div class="lines-tokens" role="group" aria-label=${label}>${repeat(shown, (index) => index, (index) => one(all, tokens[index] ?? "", index))}</div>`;
}

function one(
  { content: { begins }, axis, isArcs, rowHeight, stop, pinned, chosen, beside, point, click }: LineTokens,
  name: string, index: number,
): TemplateResult {
  const begin = begins[index] ?? 0;
  const place = isArcs ? `left: ${begin}px; width: ${(begins[index + 1] ?? 0) - begin}px` : `top: ${index * rowHeight}px`;
  const { weight, head = "", tint = "" } = beside.get(index) ?? {};
  const number = weight === undefined ? "" : shortValue(weight);
  return html`<button
    class="lines-token ${axis} ${chosen.has(index) ? "chosen" : ""}" part="token" .style=${`${place}; ${tint}`} data-axis=${axis} data-index=${index}
    tabindex=${index === stop ? 0 : -1} aria-pressed=${pinned.has(index) ? "true" : "false"} aria-label=${`${tokenName(name)} ${number} ${head}`.trim()}
    @pointerenter=${(): void => point(index)} @click=${click}
  ><span class="lines-name">${tokenLabel(name)}</span>${number ? html`<span class="lines-value" data-value=${number}></span>` : nothing}${head && !isArcs ? html`<span class="lines-of" data-value=${head}></span>` : nothing}</button>`;
}

/** A weight beside a token. One that is too small for its digits is not written as zero. */
function shortValue(weight: number): string {
  return Math.abs(weight) < 0.0005 ? "<0.001" : formatValue(weight, 3);
}
