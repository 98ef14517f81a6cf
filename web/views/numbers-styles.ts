// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kPanelStyles } from "./numbers-matrix.js";
import { kScrolledStyles } from "./scrolled.js";

export const kNumbersStyles = css`
  ${kScrolledStyles}
  ${kPanelStyles}
  .num {
    display: grid;
    gap: 16px;
    max-width: 1240px;
    font-variant-numeric: tabular-nums;
  }
  .num-pair {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
    color: var(--faint);
  }
  .num-pair select {
    font: 14px/24px var(--mono);
  }
  .num-steps {
    display: grid;
    margin: 0;
    padding: 0;
    list-style: none;
    counter-reset: num;
  }
  .num-step {
    display: grid;
    grid-template-columns: minmax(0, 320px) minmax(0, 1fr);
    gap: 8px 40px;
    padding: 16px 0;
    border-top: 1px solid var(--line);
    counter-increment: num;
  }
  .num-title {
    display: block;
    font: 600 14px/24px var(--mono);
  }
  .num-title::before {
    content: counter(num);
    margin-inline-end: 8px;
    color: var(--faint);
    font-weight: 400;
  }
  .num-words p,
  .num-note {
    margin: 0;
    color: var(--faint);
  }
  .num-open {
    grid-column: 1 / -1;
    min-width: 0;
  }
  .num-opener {
    min-height: 28px;
    margin-top: 4px;
    color: var(--accent);
    font-size: 13px;
  }
  .num-opener small {
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
  .num-strip {
    width: var(--bars);
    max-width: 100%;
    direction: ltr;
  }
  .num-name {
    font: 12px/20px var(--mono);
  }
  .num-name small,
  .num-hint {
    color: var(--faint);
    font-size: inherit;
  }
  .num-bars {
    cursor: crosshair;
    touch-action: pan-y;
  }
  .num-bars svg {
    display: block;
    width: 100%;
    height: 44px;
  }
  .num-plus {
    fill: var(--plus);
  }
  .num-minus {
    fill: var(--minus);
  }
  .num-zero {
    stroke: var(--faint);
    stroke-width: 1px;
    vector-effect: non-scaling-stroke;
  }
  .num-band {
    fill: color-mix(in oklab, var(--accent) 30%, transparent);
  }
  .num-numbers {
    display: grid;
    grid-auto-columns: minmax(0, 1fr);
    grid-auto-flow: column;
    color: var(--faint);
    font: 12px/16px var(--mono);
    text-align: center;
  }
  .num-lit {
    color: var(--accent);
    font-weight: 600;
  }
  .num-formula {
    display: block;
    min-height: 24px;
    margin: 0;
    overflow-wrap: anywhere;
    font: 13px/24px var(--mono);
  }
  .num-hint {
    font-family: system-ui, sans-serif;
  }
  .num-row {
    max-width: 100%;
    overflow-x: auto;
  }
  .num-keys {
    border-collapse: collapse;
    font: 13px/24px var(--mono);
  }
  .num-keys th,
  .num-keys td {
    padding: 0 16px 0 0;
    font-weight: 400;
    text-align: end;
    white-space: nowrap;
  }
  .num-keys th:first-child {
    text-align: start;
  }
  .num-keys thead th,
  .num-keys tfoot th {
    color: var(--faint);
  }
  .num-keys tfoot tr:last-child > * {
    border-top: 1px solid var(--line);
  }
  .num-keys tbody tr:hover {
    background: color-mix(in oklab, var(--ink) 6%, transparent);
  }
  .num-keys tbody tr:has(.num-key) {
    cursor: pointer;
  }
  .num-key,
  .num-head {
    min-width: 32px;
    min-height: 24px;
    text-align: start;
  }
  .num-chosen .num-key,
  .num-chosen .num-head {
    color: var(--accent);
    font-weight: 600;
  }
  .num-hidden td {
    color: var(--faint);
  }
  .num-weight {
    display: inline-block;
    width: 160px;
    background: linear-gradient(color-mix(in oklab, var(--plus) 35%, transparent) 0 0) 0 0 / calc(var(--share) * 96px) 100% no-repeat;
  }
  .num-against {
    background-image: linear-gradient(color-mix(in oklab, var(--minus) 35%, transparent) 0 0);
  }
  @container (max-width: 704px) {
    .num-step {
      grid-template-columns: minmax(0, 1fr);
    }
    .num-keys {
      font-size: 12px;
    }
    .num-keys th,
    .num-keys td {
      padding-inline-end: 8px;
    }
    .num-keys thead th {
      line-height: 16px;
      white-space: normal;
      vertical-align: bottom;
    }
    .num-weight {
      width: 72px;
      background-size: calc(var(--share) * 100%) 100%;
    }
  }
  @media (pointer: coarse) {
    .num-key,
    .num-head,
    .num-opener {
      min-height: 44px;
    }
  }
`;
