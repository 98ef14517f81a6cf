// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kScrolledStyles } from "./scrolled.js";

export const whyStyles = css`
  ${kScrolledStyles}
  .why p,
  .why-refused {
    margin: 0;
  }
  .why-refused,
  .why-faint {
    color: var(--faint);
  }
  .why-faint {
    font-size: 13px;
  }
  .why-sentence {
    font-size: 18px;
    line-height: 1.4;
    text-wrap: balance;
  }
  .why-compare {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 16px;
    margin-top: 12px;
  }
  .why-compare label {
    display: inline-flex;
    align-items: center;
    gap: 8px;
    min-height: 28px;
  }
  .why-compare input {
    width: 16px;
    height: 16px;
    margin: 0;
  }
  .why .why-chain {
    display: flex;
    flex-wrap: wrap;
    gap: 8px 32px;
    margin: 12px 0 0;
    padding: 0;
    list-style: none;
  }
  .why-chain li {
    position: relative;
    display: grid;
  }
  .why-chain li + li::before {
    content: "→";
    position: absolute;
    inset-inline-start: -24px;
    color: var(--faint);
  }
  .why-chain b {
    font: 600 16px/24px var(--mono);
  }
  .why-chain span {
    color: var(--faint);
    font-size: 12px;
  }
  .why-scroll {
    margin-top: 4px;
    overflow-x: auto;
    direction: ltr;
  }
  .why-scroll + .why-faint {
    margin-top: 4px;
  }
  .why-table {
    border-collapse: separate;
    border-spacing: 1px;
    font: 13px/18px var(--mono);
  }
  .why .why-caption {
    margin-top: 20px;
    font-weight: 600;
  }
  .why-table th,
  .why-table td {
    padding: 0 6px;
    font-weight: 400;
    white-space: nowrap;
  }
  .why-table thead th {
    width: 76px;
    min-width: 52px;
    max-width: 92px;
    padding: 0 2px;
    font: 12px/15px system-ui, sans-serif;
    text-align: end;
    vertical-align: bottom;
    white-space: normal;
  }
  .why-table thead .why-name {
    display: block;
    width: 100%;
    padding: 4px;
    text-align: end;
  }
  .why-table thead button.why-name {
    min-height: 38px;
  }
  .why-table tbody th,
  .why-table tfoot th,
  .why-corner {
    position: sticky;
    inset-inline-start: 0;
    z-index: 1;
    background: var(--paper);
    font: 12px/16px system-ui, sans-serif;
    text-align: start;
  }
  .why-corner {
    color: var(--faint);
    vertical-align: bottom;
  }
  .why-table tbody td {
    min-width: 52px;
    height: 28px;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, inherit);
    text-align: end;
  }
  .why-table .why-inner {
    font-size: 12px;
  }
  .why-table .why-sum {
    background: none;
    color: var(--ink);
    font-weight: 600;
    text-align: end;
  }
  .why-table tfoot th.why-sum {
    background: var(--paper);
    text-align: start;
  }
  .why-table tfoot td {
    height: 28px;
    border-top: 1px solid var(--line);
  }
  .why-member .why-name {
    padding-inline-start: 16px;
    color: var(--faint);
  }
  button.why-name {
    min-height: 28px;
    padding-inline-end: 4px;
    text-align: start;
  }
  button.why-name:hover,
  button.why-name[aria-pressed="true"] {
    color: var(--accent);
  }
  .why-keys button.why-name {
    max-width: 16ch;
    overflow: hidden;
    font-size: 13px;
    text-overflow: ellipsis;
  }
  .why-keys [aria-pressed="true"] .token {
    font-weight: 600;
    text-decoration: underline;
    text-underline-offset: 3px;
  }
  @container (max-width: 480px) {
    .why-sentence {
      font-size: 16px;
    }
    .why-table tbody th {
      max-width: 104px;
      white-space: normal;
    }
  }
  @media (pointer: coarse) {
    .why-compare label,
    button.why-name {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .why-table tbody td {
      --tint: Canvas;
      --ink-on-tint: CanvasText;
    }
  }
`;
