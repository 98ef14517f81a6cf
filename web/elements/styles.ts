// SPDX-License-Identifier: Apache-2.0
/**
 * The styles use a grid of 8 px and one accent colour. light-dark() follows the page's color-scheme, as do the colours
 * of the maps (theme.ts).
 */
import { css } from "lit";

const base = css`
  :host {
    --ink: light-dark(#16191d, #e8eaee);
    --faint: light-dark(#5b636c, #9aa3ad);
    --line: light-dark(#d5dadf, #343a44);
    --paper: var(--attention-paper, light-dark(#ffffff, #12151b));
    --accent: var(--attention-accent, light-dark(#b4460a, #ff9d5c));
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
    --stripe: light-dark(#d3d9df, #333a45);
    --hatch: linear-gradient(to bottom right, transparent calc(50% - 0.5px), var(--stripe) calc(50% - 0.5px) calc(50% + 0.5px), transparent calc(50% + 0.5px)) 0 0 / 6px 6px;
    display: block;
    container-type: inline-size;
    min-height: 64px;
    color: var(--ink);
    font: 14px/1.5 system-ui, sans-serif;
    text-align: start;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before {
    box-sizing: border-box;
  }
  button {
    margin: 0;
    padding: 0;
    border: 0;
    border-radius: 4px;
    background: none;
    color: inherit;
    font: inherit;
    cursor: pointer;
  }
  button:disabled {
    opacity: 0.3;
    cursor: default;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  canvas {
    display: block;
    width: 100%;
    height: 100%;
    image-rendering: pixelated;
  }
  canvas.fine {
    image-rendering: auto;
  }
  .token {
    font-family: var(--mono);
    white-space: pre;
  }
  .token i {
    color: var(--faint);
    font-style: normal;
  }
  .token i[data-mark]::before {
    content: attr(data-mark);
    opacity: 0.5;
  }
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .message {
    display: grid;
    justify-items: start;
    gap: 8px;
    padding: 16px 0;
    color: var(--faint);
    overflow-wrap: anywhere;
  }
  .message p {
    margin: 0;
  }
  .shortened {
    margin: 0 0 8px;
    color: var(--faint);
  }
  .message[role="alert"] {
    padding: 16px;
    border-inline-start: 2px solid var(--accent);
    color: var(--ink);
  }
  .message button {
    color: var(--accent);
    text-decoration: underline;
    text-underline-offset: 2px;
  }
  progress {
    width: min(240px, 100%);
    height: 4px;
    border: 0;
    background: var(--line);
    accent-color: var(--accent);
  }
`;

const grid = css`
  .heads {
    display: grid;
    grid-template-columns: auto repeat(var(--heads), minmax(0, 112px));
    gap: 8px;
  }
  .layer {
    display: grid;
    grid-column: 1 / -1;
    grid-template-columns: subgrid;
    align-items: center;
  }
  .name {
    color: var(--faint);
    font: 12px/16px var(--mono);
    text-align: center;
  }
  .thumb {
    display: block;
    width: 100%;
    aspect-ratio: 1;
    border-radius: 2px;
    background: light-dark(#eef1f4, #1a1e26);
    overflow: hidden;
  }
  .thumb:hover {
    outline: 1px solid var(--faint);
    outline-offset: 1px;
  }
  [aria-selected="true"] .thumb {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .thumb:focus-visible {
    outline: 2px solid var(--ink);
    outline-offset: 2px;
  }
`;

const head = css`
  .head {
    display: grid;
    gap: 8px;
  }
  .bar {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
  }
  .bar button {
    min-width: 32px;
    height: 32px;
    color: var(--faint);
  }
  .bar button:not(:disabled):hover {
    color: var(--ink);
  }
  .back {
    padding-inline-end: 8px;
  }
  .title {
    font: 600 16px/24px var(--mono);
  }
  .turn {
    font-size: 24px;
    line-height: 24px;
  }
  .plot {
    position: relative;
    display: grid;
    grid-template: var(--top) var(--height) / var(--left) var(--width);
    margin-top: -8px;
    width: max-content;
    max-width: 100%;
    border-radius: 4px;
  }
  .axes {
    display: flex;
    flex-direction: column;
    align-items: flex-end;
    justify-content: flex-end;
    padding: 0 8px 4px 0;
    color: var(--faint);
    font-size: 12px;
    line-height: 16px;
    white-space: nowrap;
  }
  .rows,
  .cols,
  .cells {
    position: relative;
  }
  .label {
    position: absolute;
    max-width: calc(12ch + 10px);
    overflow: hidden;
    font: 12px/16px var(--mono);
    text-overflow: ellipsis;
    white-space: pre;
    pointer-events: none;
  }
  .rows .label {
    top: calc((var(--at) + 0.5) * var(--cell) - 8px);
    right: 8px;
  }
  .cols .label {
    bottom: 2px;
    left: calc((var(--at) + 0.5) * var(--cell) - 4px);
    transform: rotate(-60deg);
    transform-origin: 0 50%;
  }
  .label.chosen {
    z-index: 1;
    background: var(--paper);
    color: var(--accent);
    font-weight: 600;
  }
  .cells {
    width: var(--width);
    height: var(--height);
    background: var(--hatch);
    cursor: crosshair;
    touch-action: pan-x pan-y;
  }
  .across,
  .down,
  .cell {
    position: absolute;
    top: 0;
    left: 0;
    width: 100%;
    height: 100%;
    pointer-events: none;
  }
  .across,
  .cell {
    top: calc(var(--row) * var(--cell));
    height: var(--cell);
  }
  .down,
  .cell {
    left: calc(var(--col) * var(--cell));
    width: var(--cell);
  }
  .across,
  .down {
    outline: 1px solid color-mix(in oklab, var(--accent) 70%, transparent);
  }
  .cell {
    outline: 2px solid var(--accent);
    box-shadow: 0 0 0 3px var(--paper);
  }
  .readout {
    display: block;
    min-height: 24px;
    overflow-wrap: anywhere;
    font: 14px/24px var(--mono);
    font-variant-numeric: tabular-nums;
  }
  /* Room for two lines, so that the map stays where it is. */
  @container (max-width: 640px) {
    .readout {
      min-height: 48px;
    }
  }
  .hint {
    color: var(--faint);
    font-family: system-ui, sans-serif;
  }
  .legend {
    display: flex;
    align-items: flex-start;
    gap: 24px;
    margin-top: 8px;
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
  .scale {
    position: relative;
    flex: 0 1 256px;
  }
  .scale canvas {
    height: 8px;
    border-radius: 2px;
    image-rendering: auto;
  }
  .pointer {
    position: absolute;
    top: -4px;
    left: calc(var(--place) * 100%);
    width: 2px;
    height: 16px;
    margin-left: -1px;
    background: var(--accent);
  }
  .ticks {
    display: flex;
    justify-content: space-between;
    margin-top: 4px;
  }
  .legend .masked {
    display: flex;
    align-items: center;
    gap: 8px;
    margin-top: -4px;
  }
  .swatch {
    width: 16px;
    height: 16px;
    border: 1px solid var(--line);
    border-radius: 2px;
    background: var(--hatch);
  }
`;

const steps = css`
  .steps {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(536px, 100%), 1fr));
    gap: 40px 48px;
  }
  .choices,
  .step.wide {
    grid-column: 1 / -1;
  }
  .choices {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 24px;
  }
  .segments {
    display: flex;
    border: 1px solid var(--line);
    border-radius: 4px;
  }
  .segments label {
    padding: 4px 16px;
    border-radius: 3px;
    cursor: pointer;
  }
  .segments label:has(:checked) {
    background: var(--ink);
    color: var(--paper);
  }
  .segments label:has(:focus-visible) {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .segments input {
    position: absolute;
    opacity: 0;
    pointer-events: none;
  }
  .check {
    display: flex;
    align-items: center;
    gap: 8px;
    cursor: pointer;
  }
  .check input {
    width: 16px;
    height: 16px;
    margin: 0;
    accent-color: var(--accent);
  }
  .steps h3,
  .steps p {
    margin: 0;
  }
  .steps h3 {
    font: 600 14px/24px var(--mono);
  }
  .steps p {
    color: var(--faint);
  }
  .steps h3 span {
    margin-inline-end: 8px;
    color: var(--faint);
    font-weight: 400;
  }
  .equation {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
    margin-top: 16px;
  }
  .term {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .sign {
    padding-top: 24px;
    color: var(--faint);
    font: 16px/24px var(--mono);
  }
  table {
    border-collapse: separate;
    border-spacing: 1px;
    font: 12px/16px var(--mono);
    font-variant-numeric: tabular-nums;
  }
  caption {
    padding-bottom: 4px;
    color: var(--ink);
    text-align: start;
  }
  caption small {
    color: var(--faint);
    font-size: inherit;
  }
  th {
    padding: 0 8px 0 0;
    color: var(--faint);
    font-weight: 400;
    text-align: end;
  }
  thead th {
    padding: 0 8px 0 0;
  }
  tbody td {
    min-width: calc(var(--chars) * 1ch + 12px);
    height: 32px;
    padding: 0 6px;
    border-radius: 2px;
    background: var(--tint);
    color: var(--ink-on-tint);
    text-align: end;
  }
  td.masked {
    background: var(--hatch);
    color: var(--ink);
  }
  td.lit {
    outline: 2px solid var(--ink);
    outline-offset: -1px;
    box-shadow: inset 0 0 0 2px var(--paper);
  }
  .result td {
    cursor: crosshair;
  }
  sub {
    font-size: 0.8em;
    line-height: 0;
  }
  .sum {
    display: block;
    min-height: 24px;
    margin-top: 8px;
    overflow-wrap: anywhere;
    font: 12px/24px var(--mono);
    font-variant-numeric: tabular-nums;
  }
`;

const directions = css`
  /* Rows and columns keep their sides in pages that read from right to left. */
  .heads,
  .plot,
  .scale,
  .equation {
    direction: ltr;
  }
`;

const preferences = css`
  @media (prefers-contrast: more) {
    :host {
      --faint: var(--ink);
      --line: var(--ink);
    }
    .token i[data-mark]::before {
      opacity: 1;
    }
  }
  @media (forced-colors: active) {
    canvas,
    .cells,
    .pointer,
    .swatch,
    tbody td {
      forced-color-adjust: none;
    }
    .segments label:has(:checked) {
      background: Highlight;
      color: HighlightText;
    }
  }
  @media (max-width: 480px) {
    .heads {
      gap: 4px;
    }
  }
`;

export const styles = [base, grid, head, steps, directions, preferences];
