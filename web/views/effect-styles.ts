// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kExpectedStyles } from "./expected.js";
import { kScrolledStyles } from "./scrolled.js";

const own = css`
  ${kScrolledStyles}
  .effect p {
    margin: 0;
  }
  .effect-faint {
    color: var(--faint);
    font-size: 13px;
  }
  .effect .effect-title {
    margin-bottom: 4px;
    font-weight: 600;
    font-size: 16px;
  }
  .effect .effect-heading {
    margin: 12px 0 4px;
    font-weight: 600;
  }
  .effect-tools {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
  }
  .effect-tools button,
  .effect-patch button {
    min-height: 32px;
    padding: 0 12px;
    border: 1px solid var(--line);
    border-radius: 16px;
  }
  .effect-tools button:hover,
  .effect-patch button:hover {
    border-color: var(--ink);
  }
  .effect-tools button[aria-pressed="true"] {
    border-color: var(--accent);
    background: color-mix(in oklab, var(--accent) 12%, transparent);
    font-weight: 600;
  }
  .effect-tools kbd {
    margin-inline-start: 4px;
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
  .effect-patch {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    margin-top: 8px;
  }
  .effect-patch label {
    display: flex;
    flex: 1 1 260px;
    align-items: center;
    gap: 8px;
  }
  .effect-patch input {
    flex: 1;
    min-width: 0;
  }
  .effect-patch p {
    flex-basis: 100%;
  }
  .effect-change {
    margin-top: 16px;
    padding: 12px 16px 16px;
    border-inline-start: 3px solid var(--accent);
    background: color-mix(in oklab, var(--ink) 3%, transparent);
  }
  .effect-sections {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr));
    gap: 24px 48px;
    margin-top: 20px;
  }
  .effect-columns {
    display: grid;
    grid-template-columns: 1fr 1fr;
    gap: 8px 24px;
  }
  .effect-section > .effect-faint {
    max-width: 72ch;
    margin-top: 4px;
  }
  .effect-bars,
  .effect-strip,
  .effect-heads {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .effect-bars li {
    display: grid;
    grid-template-columns: minmax(0, 10ch) minmax(0, 1fr) 6ch;
    align-items: center;
    gap: 8px;
    min-height: 26px;
  }
  .effect-copies .effect-bars li {
    padding-block: 3px;
    grid-template-columns: minmax(0, 5fr) minmax(0, 4fr) 6ch;
  }
  .effect-label {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .effect-copies .effect-label {
    overflow: visible;
    white-space: normal;
    line-height: 1.3;
  }
  .effect-bar {
    display: block;
    width: calc(var(--share) * 100%);
    min-width: 1px;
    height: 12px;
    border-radius: 0 2px 2px 0;
    background: light-dark(#4a84c4, #6aa7ea);
  }
  .effect-bar.less {
    background: light-dark(#c0763a, #d98d52);
  }
  .effect-value {
    font: 13px/20px var(--mono);
    text-align: end;
    white-space: nowrap;
  }
  .effect-scroll {
    overflow-x: auto;
  }
  .effect-lens {
    border-collapse: collapse;
    font-size: 13px;
  }
  .effect-lens th,
  .effect-lens td {
    padding: 0 12px 0 0;
    font-weight: 400;
    text-align: start;
    white-space: nowrap;
  }
  .effect-lens thead th {
    color: var(--faint);
    font-size: 12px;
    vertical-align: bottom;
  }
  .effect-lens tbody tr {
    height: 28px;
    border-top: 1px solid var(--line);
  }
  .effect-lens tbody td {
    font-family: var(--mono);
  }
  .effect-lens .here {
    background: color-mix(in oklab, var(--accent) 10%, transparent);
  }
  .effect-here {
    color: var(--accent);
    font-size: 12px;
  }
  .effect-share {
    position: relative;
    min-width: 140px;
  }
  .effect-share .effect-bar {
    display: inline-block;
    width: calc(var(--share) * 72px);
    margin-inline-end: 6px;
    background: color-mix(in oklab, var(--ink) 60%, transparent);
  }
  .effect-strip {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 1px;
    max-height: 260px;
    padding: 3px;
    overflow-y: auto;
  }
  .effect-strip button {
    position: relative;
    display: grid;
    justify-items: center;
    min-width: 32px;
    min-height: 40px;
  }
  .effect-tint {
    padding: 2px 4px;
    border-radius: 2px;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, inherit);
  }
  .effect-tint .token {
    --mark: currentcolor;
  }
  .effect-strip small {
    color: var(--faint);
    font: 12px/14px var(--mono);
  }
  .effect-strip [aria-pressed="true"] .effect-tint {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  .effect-heads {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
  }
  .effect-heads button {
    min-height: 28px;
    padding: 0 10px;
    border: 1px solid var(--line);
    border-radius: 14px;
    font-size: 13px;
  }
  .effect-heads button:hover {
    border-color: var(--accent);
  }
  .effect-heads b {
    font: 600 13px/20px var(--mono);
  }
  .effect-times {
    white-space: nowrap;
  }
  .effect progress {
    display: inline-block;
    width: 120px;
    vertical-align: middle;
  }
  @container (max-width: 480px) {
    .effect-columns {
      grid-template-columns: 1fr;
    }
    .effect-change {
      padding-inline: 10px 8px;
    }
    .effect-share {
      min-width: 0;
    }
    .effect-share .effect-bar {
      display: none;
    }
    .effect-here {
      display: block;
      line-height: 1;
      padding-bottom: 4px;
    }
    .effect-lens th,
    .effect-lens td {
      padding-inline-end: 8px;
    }
  }
  @media (pointer: coarse) {
    .effect-tools button,
    .effect-patch button,
    .effect-heads button,
    .effect-strip button {
      min-height: 44px;
    }
  }
  @media (forced-colors: active) {
    .effect .effect-bar {
      forced-color-adjust: none;
      background: Highlight;
    }
    .effect-tint {
      background: Canvas;
      color: CanvasText;
    }
  }
`;

export const effectStyles = css`${kExpectedStyles}${own}`;
