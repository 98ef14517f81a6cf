// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kSegmentStyles } from "./segments.js";

export const compareStyles = css`
  ${kSegmentStyles}
  .cmp {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 12px;
    justify-items: start;
  }
  .cmp-field {
    width: min(60ch, 100%);
  }
  .cmp-words {
    margin: 0;
    line-height: 1.8;
    overflow-wrap: anywhere;
  }
  .cmp-words del,
  .cmp-words ins {
    margin-inline-end: 4px;
    border-bottom: 2px dashed var(--accent);
    text-decoration: none;
  }
  .cmp-words ins {
    border-bottom-style: solid;
  }
  .cmp-plot .in-a,
  .cmp-plot .in-b {
    text-decoration: underline dashed var(--accent);
  }
  .cmp-plot .in-b {
    text-decoration-style: solid;
  }
  .cmp-tops {
    min-height: 48px; /* two lines, so that the maps stay where they are while their rows are pointed at */
    margin: 0;
    font-size: 16px;
    line-height: 24px;
  }
  .cmp-maps {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(280px, 100%), 1fr));
    gap: 16px;
    width: 100%;
    max-width: 1200px;
  }
  .cmp-figure {
    container-type: inline-size;
    margin: 0;
  }
  .cmp-figure figcaption,
  .cmp-note {
    margin: 0 0 4px;
    color: var(--faint);
    font-size: 14px;
  }
  .cmp-plot {
    /* The space for names, of which those of columns are tilted by 60°. */
    --beside: calc(0.87 * var(--col-name) + 10px) calc(0.5 * var(--col-name)) 0 calc(var(--row-name) + 10px);
    position: relative;
    aspect-ratio: var(--cols) / var(--rows);
    max-height: 480px;
    border: 1px solid var(--line);
    background: var(--hatch);
    direction: ltr;
    cursor: pointer;
    font: 12px/14px var(--mono);
  }
  .cmp-rows span,
  .cmp-cols span {
    display: none;
    position: absolute;
    overflow: hidden;
    color: var(--faint);
    text-overflow: ellipsis;
    white-space: pre;
    pointer-events: none;
  }
  .cmp-rows span {
    inset: calc((var(--at) + 0.5) * 100% / var(--rows) - 7px) calc(100% + 6px) auto auto;
    max-width: calc(var(--row-name) + 4px);
  }
  .cmp-cols span {
    inset: auto auto calc(100% + 2px) calc((var(--at) + 0.5) * 100% / var(--cols) - 2px);
    max-width: calc(var(--col-name) + 4px);
    transform: rotate(-60deg);
    transform-origin: 0 50%; /* as exports turn words */
  }
  .cmp-plot span.chosen {
    color: var(--accent);
    font-weight: 600;
  }
  /* Small maps have no space for long names; what is pointed at is written below. */
  @container (min-width: 260px) {
    .cmp-plot.short {
      margin: var(--beside);
    }
    .cmp-plot.short span {
      display: block;
    }
  }
  @container (min-width: 340px) {
    .cmp-plot {
      margin: var(--beside);
    }
    .cmp-plot span {
      display: block;
    }
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
  .cmp-label {
    display: grid;
    gap: 4px;
    width: min(60ch, 100%);
    color: var(--faint);
    font-size: 14px;
  }
  .cmp-label .cmp-field {
    width: 100%;
    font-size: 16px;
  }
  .cmp-scale {
    display: flex;
    align-items: center;
    gap: 8px;
    margin-top: 4px;
    direction: ltr;
  }
  .cmp-scale canvas {
    position: static;
    flex: 0 1 120px;
    width: 120px;
    min-width: 0;
    height: 8px;
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
  .cmp-moved,
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
  .cmp-moved {
    grid-template-rows: 42px auto auto;
  }
  @media (pointer: coarse) {
    .cmp-heads button {
      min-height: 44px;
    }
  }
`;
