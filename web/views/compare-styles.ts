// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";

export const compareStyles = css`
  .cmp {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 12px;
    justify-items: start;
  }
  .cmp-field {
    width: min(60ch, 100%);
    min-height: 32px;
    font: inherit;
  }
  .cmp-strip {
    margin: 0;
    line-height: 1.8;
    overflow-wrap: anywhere;
  }
  .cmp-strip del {
    border-bottom: 2px dashed var(--accent);
    text-decoration: none;
  }
  .cmp-maps {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(240px, 100%), 1fr));
    gap: 16px;
    width: 100%;
    max-width: 1200px;
  }
  .cmp-figure {
    margin: 0;
  }
  .cmp-figure figcaption,
  .cmp-note {
    margin: 0 0 4px;
    color: var(--faint);
    font-size: 14px;
  }
  .cmp-plot {
    position: relative;
    aspect-ratio: var(--cols) / var(--rows);
    border: 1px solid var(--line);
    background: var(--hatch);
    direction: ltr;
    cursor: pointer;
  }
  .cmp-cell {
    position: absolute;
    left: calc(var(--col) * 100% / var(--cols));
    top: calc(var(--row) * 100% / var(--rows));
    width: calc(100% / var(--cols));
    height: calc(100% / var(--rows));
    min-width: 4px;
    min-height: 4px;
    outline: 2px solid var(--accent);
    pointer-events: none;
  }
  .cmp-readout {
    font-variant-numeric: tabular-nums;
  }
  .cmp-kl,
  .cmp-heads {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .cmp-kl button,
  .cmp-heads button {
    display: grid;
    justify-items: center;
    min-width: 44px;
    min-height: 24px;
    padding: 2px 6px;
  }
  .cmp small {
    color: var(--faint);
    font-family: var(--mono);
  }
  .cmp-bar {
    align-self: end;
    width: 20px;
    height: calc(var(--share) * 40px + 1px);
    background: currentColor;
  }
  .cmp-kl button {
    grid-template-rows: 42px auto auto;
  }
  @media (pointer: coarse) {
    .cmp-heads button,
    .cmp-field {
      min-height: 44px;
    }
  }
`;
