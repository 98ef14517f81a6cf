// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kCacheStyles } from "./decode-cache.js";
import { kScrolledStyles } from "./scrolled.js";

export const kDecodeStyles = css`
  ${kCacheStyles}
  ${kScrolledStyles}
  .decode {
    display: grid;
    gap: 12px;
    max-width: 1240px;
    font-variant-numeric: tabular-nums;
  }
  .decode-controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 8px;
    color: var(--faint);
  }
  .decode-button {
    min-width: 32px;
    height: 32px;
    color: var(--ink);
    font: 12px/32px var(--mono);
  }
  .decode-scrub {
    flex: 1 1 160px;
    max-width: 400px;
    height: 32px;
    margin: 0;
  }
  .decode-count {
    min-width: 64px;
    font: 13px/24px var(--mono);
  }
  .decode select {
    font: 13px/24px var(--mono);
  }
  .decode-strip {
    display: flex;
    flex-wrap: wrap;
    gap: 2px;
    max-height: 160px;
    padding: 4px;
    overflow: auto;
  }
  .decode-label {
    padding-inline-end: 8px;
    color: var(--faint);
    font: 12px/28px var(--mono);
  }
  .decode-chip {
    min-width: 24px;
    min-height: 28px;
    padding: 0 6px;
    border-radius: 3px;
    background: var(--tint, none);
    color: var(--ink-on-tint, var(--ink));
    font-size: 14px;
    line-height: 28px;
  }
  .decode-chip .token {
    --mark: currentcolor;
  }
  .decode-chip.decode-now {
    outline: 2px solid var(--accent);
    outline-offset: 0;
  }
  .decode-chip.decode-now:focus-visible {
    outline-width: 4px;
  }
  .decode-chip.decode-later {
    color: var(--faint);
  }
  .decode-chip:disabled {
    opacity: 1;
  }
  .decode-chip.decode-gone {
    background: var(--hatch);
    color: var(--faint);
  }
  .decode-chip.decode-made {
    border-bottom: 2px dotted var(--accent);
  }
  .decode-sentence {
    min-height: 42px;
    margin: 0;
  }
  .decode-parts {
    display: grid;
    grid-template-columns: max-content minmax(280px, 1fr) minmax(240px, 320px);
    gap: 24px 40px;
    align-items: start;
  }
  .decode-parts > section {
    min-width: 0;
  }
  .decode-map {
    display: flex;
    direction: ltr;
  }
  .decode-map .decode-cells {
    background: var(--hatch);
    max-width: 100%;
  }
  .decode-names {
    padding-inline-end: 8px;
    font: 12px/16px var(--mono);
    text-align: end;
  }
  .decode-names span {
    display: block;
    overflow: hidden;
    max-width: 12ch;
  }
  .decode-names .decode-now {
    color: var(--accent);
    font-weight: 600;
  }
  .decode-names .decode-later {
    color: var(--faint);
  }
  .decode-row {
    position: absolute;
    left: 0;
    width: 100%;
    outline: 2px solid var(--accent);
    pointer-events: none;
  }
  .decode-next {
    display: grid;
    grid-template-columns: minmax(80px, 1fr) max-content minmax(72px, max-content);
    gap: 2px 8px;
    margin: 0;
    padding: 0;
    font: 13px/24px var(--mono);
    list-style: none;
  }
  .decode-next li {
    display: grid;
    grid-column: 1 / -1;
    grid-template-columns: subgrid;
    text-align: end;
  }
  .decode-bar {
    overflow: hidden;
    padding-inline-start: 4px;
    background: linear-gradient(color-mix(in oklab, var(--ink) 14%, transparent) 0 0) 0 0 / calc(var(--share) * 100%) 100% no-repeat;
    text-align: start;
    text-overflow: ellipsis;
  }
  .decode-came {
    color: var(--accent);
    font-weight: 600;
  }
  .decode-going {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    margin-top: 16px;
  }
  .decode-action {
    min-height: 32px;
    padding: 0 12px;
    border: 1px solid var(--line);
    color: var(--accent);
  }
  .decode-text {
    flex-basis: 100%;
    margin: 0;
    overflow-wrap: anywhere;
  }
  .decode-note {
    margin: 0;
    color: var(--faint);
  }
  .decode-note b {
    color: var(--ink);
    font-weight: 600;
  }
  @container (max-width: 960px) {
    .decode-parts {
      grid-template-columns: minmax(0, 1fr);
    }
  }
  @media (pointer: coarse) {
    .decode-button,
    .decode-scrub,
    .decode-chip,
    .decode-action {
      min-width: 44px;
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .decode-chip,
    .decode-bar {
      forced-color-adjust: none;
    }
  }
`;
