// SPDX-License-Identifier: Apache-2.0
/** The keys that a query looks at most, or several queries on average, as sorted bars. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";

/** The most bars. What the others have together is written. */
const kMost = 5;

/** Smaller weights have no bar: three decimals would show them as zero. */
const kLeast = 0.0005;

/** The mean of rows of one length. */
export function meanOf(rows: readonly Float32Array[]): Float32Array {
  const [first] = rows;
  if (!first || rows.length === 1) return first ?? new Float32Array();
  return first.map((_, col) => rows.reduce((sum, row) => sum + (row[col] ?? 0), 0) / rows.length);
}

/** `weights` are a row's, with NaN where a key is masked or not known. `pin` is called with the key that is chosen. */
export function rowStrip(
  queries: readonly string[], keys: readonly string[], weights: Float32Array, chosen: number | undefined,
  pin: (col: number) => void,
): TemplateResult | typeof nothing {
  const order = [...weights.keys()].filter((col) => Number.isFinite(weights[col]));
  order.sort((a, b) => Math.abs(weights[b] ?? 0) - Math.abs(weights[a] ?? 0));
  const most = Math.abs(weights[order[0] ?? 0] ?? 0);
  if (queries.length === 0 || !(most >= kLeast)) return nothing;
  const shown = order.slice(0, kMost).filter((col) => Math.abs(weights[col] ?? 0) >= kLeast);
  const others = order.slice(shown.length);
  const rest = others.reduce((sum, col) => sum + (weights[col] ?? 0), 0);
  const names = queries.map(tokenName).join(", ");
  const bar = (col: number): TemplateResult => {
    const value = weights[col] ?? 0;
    return html`
      <li>
        <button aria-pressed=${col === chosen ? "true" : "false"} @click=${(): void => pin(col)}>
          <span class="strip-token">${tokenLabel(keys[col] ?? "")}</span>
          <span class="strip-bar" .style=${`--share: ${Math.abs(value) / most}`}></span>
          <span class="strip-value">${formatValue(value, 3)}</span>
        </button>
      </li>
    `;
  };
  return html`
    <section class="strip" part="strip" aria-label=${`${queries.length > 1 ? `Mean of ${names}` : names}: the keys with the largest weights`}>
      <p class="strip-title">${queries.length > 1 ? `Mean of ${queries.length} queries` : names} looks at</p>
      <ol>${shown.map(bar)}</ol>
      ${others.length > 0 ? html`<p>${others.length} more keys: ${formatValue(rest, 3)} together</p>` : nothing}
    </section>
  `;
}

export const kStripStyles = css`
  /* As high as with all bars, so that what stands below keeps its place while rows are pointed at. */
  .strip {
    min-height: 184px;
    margin-top: 16px;
    padding-top: 8px;
    border-top: 1px solid var(--line);
    font-size: 14px;
  }
  .strip .strip-title {
    margin: 0 0 4px;
    color: var(--faint);
    font: inherit;
  }
  .strip ol {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .strip button {
    display: grid;
    grid-template-columns: minmax(48px, 18ch) minmax(0, 1fr) 7ch;
    align-items: center;
    gap: 8px;
    width: 100%;
    min-height: 24px;
    text-align: start;
  }
  .strip button:hover,
  .strip button[aria-pressed="true"] {
    color: var(--accent);
  }
  .strip-token {
    overflow: hidden;
    text-align: end;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .strip-bar {
    width: calc(var(--share) * 100%);
    min-width: 2px;
    height: 10px;
    border-radius: 2px;
    background: currentColor;
    opacity: 0.75;
  }
  .strip-value {
    font-family: var(--mono);
    font-variant-numeric: tabular-nums;
    text-align: end;
  }
  .strip p:last-child {
    margin: 4px 0 0;
    color: var(--faint);
    font-size: 12px;
  }
  @media (pointer: coarse) {
    .strip {
      min-height: 284px;
    }
    .strip button {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .strip-bar {
      background: Highlight;
    }
  }
`;
