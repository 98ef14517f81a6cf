// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kStripStyles } from "./row-strip.js";

/** The styles of the map of one head. */
export const kMapStyles = css`
  ${kStripStyles}
  .head {
    display: grid;
    gap: 8px;
  }
  .compact.head {
    gap: 4px;
  }
  .compact .words,
  .compact .ticks {
    display: none;
  }
  .compact .scale {
    flex: 0 1 64px;
    align-self: center;
    line-height: 0;
  }
  .compact .legend {
    margin: 0;
    flex-wrap: nowrap;
    white-space: nowrap;
    overflow: hidden;
  }
  .compact .legend > .words {
    display: flex;
    flex: none;
    flex-wrap: nowrap;
  }
  .compact .plot {
    margin-top: 0;
    grid-template: var(--height) / var(--width);
  }
  .zoom {
    display: flex;
    margin-inline-start: auto;
  }
  .zoom button {
    font: 16px/24px var(--mono);
  }
  .zoom button:last-child {
    font-size: 14px;
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
    top: calc(var(--at) - 8px);
    right: 8px;
  }
  .cols .label {
    bottom: 2px;
    left: calc(var(--at) - 4px);
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
    overflow: hidden;
    background: var(--hatch);
    cursor: crosshair;
    touch-action: pan-x pan-y;
  }
  .cells.zoomed {
    touch-action: none;
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
    top: var(--y);
    height: var(--cell);
  }
  .down,
  .cell {
    left: var(--x);
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
  .pinned {
    position: absolute;
    top: var(--y);
    left: 0;
    width: 100%;
    height: var(--cell);
    border-inline-start: 3px solid var(--accent);
    pointer-events: none;
  }
  .minimap {
    position: absolute;
    top: 8px;
    right: 8px;
    overflow: hidden;
    outline: 1px solid var(--faint);
    background: var(--hatch) var(--paper);
    cursor: move;
    touch-action: none;
  }
  .frame {
    position: absolute;
    min-width: 4px;
    min-height: 4px;
    outline: 2px solid var(--accent);
    box-shadow: 0 0 0 1px var(--paper) inset;
  }
  .coarse {
    position: absolute;
    bottom: 8px;
    left: 8px;
    padding: 0 8px;
    border-radius: 4px;
    background: var(--paper);
    color: var(--faint);
    font-size: 12px;
    pointer-events: none;
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
  /* Where the height is limited, the words take one line each. */
  .limited .readout {
    min-height: 24px;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .limited .legend {
    flex-wrap: nowrap;
  }
  .limited .plot {
    margin-top: 0;
  }
  .hint {
    color: var(--faint);
    font-family: system-ui, sans-serif;
  }
  @media (hover: none) {
    .mouse {
      display: none;
    }
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    align-items: flex-start;
    gap: 8px 24px;
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
  .range {
    direction: ltr;
    unicode-bidi: isolate;
  }
  .ticks {
    display: flex;
    justify-content: space-between;
    margin-top: 4px;
  }
  .legend > .words {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
  }
  .masked {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .swatch {
    width: 16px;
    height: 16px;
    border: 1px solid var(--line);
    border-radius: 2px;
    background: var(--hatch);
  }
`;
