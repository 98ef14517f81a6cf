// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";
import { kSegmentStyles } from "./segments.js";

export const pictureStyles = css`
  ${kSegmentStyles}
  .pic {
    display: grid;
    gap: 12px;
    justify-items: start;
  }
  .pic-none,
  .pic-note,
  .pic-readout {
    margin: 0;
    color: var(--faint);
    font-size: 14px;
  }
  .pic-both {
    display: flex;
    flex-wrap: wrap;
    gap: 24px;
    width: 100%;
  }
  .pic-left {
    display: grid;
    gap: 8px;
    flex: 0 1 480px;
    min-width: min(280px, 100%);
  }
  .pic-readout {
    min-height: 20px;
    font-variant-numeric: tabular-nums;
  }
  .pic-chips,
  .pic-heads {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
  }
  .pic-chip {
    min-height: 28px;
    padding: 0 8px;
    border: 1px solid var(--line);
    background: var(--tint, none);
    color: var(--ink-on-tint, inherit);
    font-size: 13px;
  }
  .pic-chip i {
    color: inherit;
  }
  .pic-choose {
    justify-self: start;
    padding: 4px 12px;
    border: 1px solid var(--line);
    border-radius: 4px;
    font-size: 14px;
    cursor: pointer;
  }
  .pic-choose:focus-within {
    outline: 2px solid var(--accent);
  }
  .pic-plot {
    position: relative;
    width: 100%;
    aspect-ratio: 1;
    cursor: pointer;
    direction: ltr;
  }
  .pic-plot canvas,
  .pic-grid {
    position: absolute;
    inset: 0;
  }
  .pic-grid {
    background:
      linear-gradient(to right, rgb(128 128 128 / 45%) 1px, transparent 1px) 0 0 / calc(100% / var(--cols)) 100%,
      linear-gradient(to bottom, rgb(128 128 128 / 45%) 1px, transparent 1px) 0 0 / 100% calc(100% / var(--rows));
  }
  .pic-source,
  .pic-under {
    position: absolute;
    left: calc(var(--col) * 100% / var(--cols));
    top: calc(var(--row) * 100% / var(--rows));
    width: calc(100% / var(--cols));
    height: calc(100% / var(--rows));
    border: 2px solid var(--accent);
    box-shadow: 0 0 0 1px #fff;
    pointer-events: none;
  }
  .pic-under {
    border-style: dashed;
  }
  .pic-table {
    border-collapse: collapse;
    font-size: 14px;
    align-self: start;
  }
  .pic-table caption {
    padding-bottom: 4px;
    color: var(--faint);
    text-align: start;
  }
  .pic-table th {
    padding: 2px 24px 2px 0;
    font-weight: normal;
    text-align: start;
  }
  .pic-table td {
    font-family: var(--mono);
    text-align: end;
  }
  .pic-head {
    width: 72px;
    padding: 2px;
    border: 2px solid transparent;
    color: var(--faint);
    font-size: 12px;
  }
  .pic-head canvas {
    height: auto;
    aspect-ratio: 1;
  }
  .pic-head[aria-pressed="true"] {
    border-color: var(--accent);
    color: var(--accent);
  }
  @media (pointer: coarse) {
    .pic-chip {
      min-height: 44px;
    }
    .pic-choose {
      padding-block: 12px;
    }
  }
`;
