// SPDX-License-Identifier: Apache-2.0
/** The tokens of a text in a row of buttons, each tinted by a number that stands below it. */
import { css, html } from "lit";
import type { TemplateResult } from "lit";
import type { Colors } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import { kSteps, paletteOf } from "../maps/palette.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import type { Roving } from "./roving.js";

export interface TokenRow {
  readonly label: string;
  readonly tokens: readonly string[];
  /** One for each token; NaN where there is none. */
  readonly values: ArrayLike<number>;
  readonly colors: Colors;
  readonly chosen: readonly number[];
  readonly roving: Roving;
  /** Follows the token's name where its number is read aloud. */
  readonly meaning: string;
  pick(token: number, event: MouseEvent): void;
  point(token: number | undefined): void;
}

/** The style of what is tinted by a number, where `most` has the strongest colour. */
export function tintOf(value: number, most: number, { theme, ends }: Colors, isSigned = false): string {
  if (!Number.isFinite(value) || !(most > 0)) return "";
  const share = Math.max(-1, Math.min(value / most, 1));
  const step = Math.round((isSigned ? (share + 1) / 2 : Math.max(share, 0)) * (kSteps - 1));
  const { bytes } = paletteOf(isSigned ? "diverging" : "sequential", theme, ends);
  return tintStyle(bytes.subarray(step * 4, step * 4 + 4));
}

/** The largest magnitude of numbers some of which may be NaN. */
export const mostOf = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);

export function tokenRow(row: TokenRow): TemplateResult {
  const { label, tokens, values, colors, chosen, roving, meaning } = row;
  const most = mostOf(values);
  const isSigned = Array.from(values).some((value) => value < 0);
  const stop = roving.at(tokens.length);
  const one = (token: string, index: number): TemplateResult => {
    const value = values[index] ?? NaN;
    const number = Number.isFinite(value) ? formatValue(value, 3) : "–";
    const point = (): void => row.point(index);
    return html`
      <button
        class="tokens-one" data-stop=${index} tabindex=${index === stop ? 0 : -1}
        aria-pressed=${chosen.includes(index) ? "true" : "false"}
        .style=${tintOf(value, most, colors, isSigned)}
        @click=${(event: MouseEvent): void => row.pick(index, event)} @pointerenter=${point} @focus=${point}
      ><span class="unseen">${`${tokenName(token)}, token ${index}: ${meaning} ${number === "–" ? "none" : number}`}</span><span
        aria-hidden="true">${tokenLabel(token)}</span><span class="tokens-number" aria-hidden="true">${number}</span></button>
    `;
  };
  return html`
    <div
      class="tokens-row" role="group" aria-label=${label}
      @keydown=${roving.onKey} @focusin=${roving.onFocus} @pointerleave=${(): void => row.point(undefined)}
    >${tokens.map(one)}</div>
  `;
}

export const kTokenRowStyles = css`
  .tokens-row {
    position: relative; /* for words that are only read aloud, which each button would have to have a layer for */
    display: flex;
    flex-wrap: wrap;
    gap: 4px 2px;
    max-height: 280px;
    padding: 4px;
    overflow: auto;
  }
  .tokens-one {
    display: block; /* a browser takes a third longer for as many grids */
    min-width: 44px;
    min-height: 44px;
    padding: 2px 6px;
    border: 2px solid transparent;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, var(--ink));
    font-size: 16px;
    line-height: 22px;
    text-align: center;
  }
  .tokens-one:hover {
    border-color: var(--faint);
  }
  .tokens-one[aria-pressed="true"] {
    border-color: var(--accent);
    text-decoration: underline;
    text-decoration-thickness: 2px;
    text-underline-offset: 4px;
  }
  .tokens-one .token {
    --mark: currentcolor;
  }
  .tokens-number {
    display: block;
    font: 12px/16px var(--mono);
    font-variant-numeric: tabular-nums;
  }
`;
