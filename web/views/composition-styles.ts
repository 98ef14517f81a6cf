// SPDX-License-Identifier: Apache-2.0
/** The styles of the view of composition. */
import { css } from "lit";
import { kScrolledStyles } from "./scrolled.js";

export const compositionStyles = css`
  ${kScrolledStyles}
  .composition .composition-title {
    margin: 16px 0 0;
    font: 600 14px/24px system-ui, sans-serif;
  }
  .composition p {
    margin: 0 0 8px;
  }
  .composition .composition-note {
    color: var(--faint);
    font-size: 13px;
  }
  .composition-controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 24px;
    margin-bottom: 8px;
  }
  .composition-controls fieldset {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 12px;
    margin: 0;
    padding: 0;
    border: 0;
  }
  .composition-controls legend {
    float: left;
    margin-inline-end: 4px;
    color: var(--faint);
  }
  .composition-controls label {
    display: inline-flex;
    align-items: center;
    gap: 4px;
    min-height: 24px;
  }
  .composition-stop {
    min-width: 44px;
    min-height: 24px;
    color: var(--accent);
  }
  .composition-scroll {
    overflow: auto;
    direction: ltr;
  }
  .composition-plot {
    position: relative;
  }
  .composition-plot svg {
    display: block;
  }
  .composition-arc {
    color: var(--faint);
    cursor: pointer;
  }
  .composition-arc path {
    fill: none;
    stroke: currentColor;
  }
  .composition-arc .composition-hit {
    stroke-width: 16;
    stroke-opacity: 0;
  }
  .composition-arc.open,
  .composition-arc:hover {
    color: var(--accent);
  }
  .composition-arc:focus {
    outline: none;
    color: var(--accent);
  }
  .composition-arc:focus-visible .composition-hit {
    stroke-width: 14;
    stroke-opacity: 0.3;
  }
  .composition .composition-readout {
    min-height: 20px;
    color: var(--faint);
    font: 13px/20px var(--mono);
  }
  .composition-dot {
    position: absolute;
    min-width: 36px;
    height: 24px;
    transform: translate(-50%, -50%);
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--paper);
    font: 12px/22px var(--mono);
  }
  .composition-dot.open {
    border: 2px solid var(--accent);
    font-weight: 700;
  }
  .composition-pair {
    display: flex;
    flex-wrap: wrap;
    gap: 16px;
    margin-bottom: 8px;
  }
  .composition-pair figure {
    width: 192px;
    margin: 0;
    font-size: 13px;
  }
  .composition-map {
    position: relative;
    display: block;
    width: 192px;
    height: 192px;
    background: var(--hatch);
    border: 1px solid var(--line);
    border-radius: 0;
    direction: ltr;
  }
  .composition-map i {
    position: absolute;
    min-width: 6px;
    min-height: 6px;
    outline: 2px solid var(--accent);
  }
  .composition-list {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .composition-list button {
    min-height: 24px;
    font: 13px/24px var(--mono);
    text-align: start;
  }
  .composition-list button[aria-pressed="true"] {
    color: var(--accent);
    text-decoration: underline;
  }
  @media (pointer: coarse) {
    .composition-list button,
    .composition-stop,
    .composition-controls label,
    .composition-dot {
      min-width: 44px;
      min-height: 44px;
    }
  }
`;
