// SPDX-License-Identifier: Apache-2.0
/** The styles of the view of lines. */
import { css } from "lit";
import type { CSSResult } from "lit";
import { kScrolledStyles } from "./scrolled.js";

/** Both heights are in pixels: of the arcs above a line of tokens, and of the names above the columns. */
export const linesStyles = (arcs: number, names: number): CSSResult => css`
  ${kScrolledStyles}
  .lines-modes,
  .lines-legend {
    display: flex;
    flex-wrap: wrap;
    gap: 0 8px;
    align-items: center;
  }
  .lines-mode {
    padding: 0 8px;
  }
  .lines-mode[aria-pressed="true"],
  .lines-head[aria-pressed="true"] {
    background: color-mix(in oklab, var(--ink) 8%, transparent);
    color: var(--ink);
    font-weight: 600;
  }
  .lines-head {
    display: inline-flex;
    gap: 6px;
    align-items: center;
    min-height: 24px;
    padding: 0 6px;
    font: 13px/24px var(--mono);
  }
  .lines-named {
    color: var(--faint);
    font: 13px/24px system-ui, sans-serif;
  }
  .lines-swatch {
    width: 16px;
    height: 4px;
    border-radius: 2px;
    forced-color-adjust: none;
  }
  .lines-box {
    position: relative;
    max-width: 880px;
    max-height: min(70vh, 640px);
    overflow: hidden auto;
    direction: ltr;
  }
  .arcs .lines-box {
    max-width: none;
    overflow: auto hidden;
  }
  .columns .lines-canvas {
    position: sticky;
    top: 0;
    left: 32%;
    width: 36%;
    height: var(--lines-height);
    margin-bottom: calc(-1 * var(--lines-height));
  }
  .arcs .lines-canvas {
    position: sticky;
    left: 0;
    height: ${arcs}px;
  }
  .lines-canvas {
    pointer-events: none;
  }
  .lines-heads {
    position: relative;
    display: flex;
    justify-content: space-between;
    height: ${names}px;
    color: var(--faint);
    font-size: 12px;
  }
  .lines-heads span {
    width: 32%;
  }
  .lines-heads span:first-child {
    text-align: right;
  }
  .lines-heads span,
  .columns .lines-token {
    padding: 0 6px;
  }
  .lines-tall {
    position: relative;
    overflow: hidden;
  }
  .lines-token {
    position: absolute;
    display: flex;
    gap: 6px;
    align-items: center;
    overflow: hidden;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, inherit);
    font-size: 13px;
  }
  .columns .lines-token {
    width: 32%;
    height: var(--lines-row);
  }
  .columns .lines-token.row {
    left: 0;
    justify-content: end;
  }
  .columns .lines-token.col {
    right: 0;
    justify-content: start;
  }
  .columns .lines-token.row .lines-value,
  .columns .lines-token.row .lines-of {
    order: -1;
  }
  .arcs .lines-token {
    top: 0;
    flex-direction: column;
    gap: 0;
    justify-content: start;
    min-height: var(--lines-row);
    padding: 0 2px;
  }
  .lines-name {
    max-width: 100%;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .lines-token .token {
    --mark: currentcolor;
  }
  .lines-value,
  .lines-of {
    font: 12px var(--mono);
  }
  .lines-of {
    opacity: 0.75;
  }
  /* The button's name has the number and the head, which are no part of the token. */
  .lines-value::before,
  .lines-of::before {
    content: attr(data-value);
  }
  .lines-token:focus-visible {
    outline-offset: -2px;
  }
  .lines-token.chosen {
    outline: 2px solid var(--accent);
    outline-offset: -2px;
  }
  .lines-token[aria-pressed="true"] {
    font-weight: 600;
  }
  .lines-share {
    margin: 4px 0 0;
    color: var(--faint);
    font-size: 13px;
  }
  @media (pointer: coarse) {
    .lines-head {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .lines-token {
      forced-color-adjust: none;
    }
  }
`;
