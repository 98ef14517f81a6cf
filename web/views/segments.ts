// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";

/** A choice of one of a few: radio buttons in a row, of which the chosen one is filled. */
export const kSegmentStyles = css`
  .segments {
    display: flex;
    flex-wrap: wrap;
    width: max-content;
    max-width: 100%;
    border: 1px solid var(--line);
    border-radius: 4px;
  }
  .segments label {
    position: relative;
    padding: 4px 12px;
    border-radius: 3px;
    color: var(--ink);
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
  @media (pointer: coarse) {
    .segments label {
      padding: 12px 6px; /* high enough for a finger, and three choices stand beside each other on a phone */
    }
  }
  @media (forced-colors: active) {
    .segments label:has(:checked) {
      background: Highlight;
      color: HighlightText;
      forced-color-adjust: none;
    }
  }
`;
