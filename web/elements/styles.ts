// SPDX-License-Identifier: Apache-2.0
/**
 * The styles use a grid of 8 px and one accent colour. light-dark() follows the theme, as do the colours of the maps.
 */
import { css, unsafeCSS } from "lit";
import type { CSSResult } from "lit";
import { kFrameStyles } from "./frame.js";
import { kBarStyles } from "./head-bar.js";
import { kSurroundings } from "../maps/palette.js";

const ofTheme = (name: keyof (typeof kSurroundings)["light"]): CSSResult =>
  unsafeCSS(`light-dark(${kSurroundings.light[name]}, ${kSurroundings.dark[name]})`);

const base = css`
  :host {
    --ink: var(--attention-ink, ${ofTheme("ink")});
    --faint: var(--attention-faint, ${ofTheme("faint")});
    --line: var(--attention-line, ${ofTheme("line")});
    --paper: var(--attention-paper, ${ofTheme("paper")});
    --accent: var(--attention-accent, light-dark(#b4460a, #ff9d5c));
    --mono: var(--attention-mono, ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace);
    --stripe: var(--attention-stripe, ${ofTheme("stripe")});
    --dots: radial-gradient(var(--stripe) 1px, transparent 1.5px) 0 0 / 6px 6px;
    --hatch: linear-gradient(to bottom right, transparent calc(50% - 0.5px), var(--stripe) calc(50% - 0.5px) calc(50% + 0.5px), transparent calc(50% + 0.5px)) 0 0 / 6px 6px;
    display: block;
    position: relative;
    container-type: inline-size;
    transition: color 1ms; /* its end tells of a change (theme.ts) */
    font: 14px/1.5 system-ui, sans-serif;
    text-align: start;
  }
  :host([hidden]) {
    display: none;
  }
  /* An empty box, which has a height only where the page limits that of the element. */
  .room {
    float: inline-start;
    width: 0;
    height: 100%;
  }
  .root {
    position: relative;
    margin: 0;
    min-height: min(64px, 100%);
    color: var(--ink);
    accent-color: var(--accent);
  }
  .root.limited {
    height: 100%;
    padding: 4px;
    overflow: auto;
  }
  :host([theme="light"]) .root,
  :host([theme="dark"]) .root {
    background: var(--paper);
  }
  .root.light {
    color-scheme: light;
  }
  .root.dark {
    color-scheme: dark;
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
  select,
  textarea,
  input:is([type="text"], [type="search"]) {
    max-width: 100%;
    min-height: 32px;
    padding: 0 8px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--paper);
    color: var(--ink);
    font: inherit;
    @media (pointer: coarse) {
      min-height: 44px;
    }
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
  .token {
    font-family: var(--mono);
    white-space: pre;
  }
  /* On a tint, where faint marks could not be read, views give them the colour of the text by --mark. */
  .token i {
    color: var(--mark, var(--faint));
    font-style: normal;
  }
  :is(.token, .token i)[data-mark]::before {
    content: attr(data-mark);
    color: color-mix(in srgb, var(--mark, var(--faint)) var(--mark-share, 50%), transparent);
  }
  /* In Firefox, a table's box does not clip its caption. */
  .unseen,
  table.unseen > caption {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
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
      --mark-share: 100%;
    }
  }
  @media (forced-colors: active) {
    /* Browsers do not force the colours of SVG, nor of what opts out because its colour is the data. */
    :host {
      --ink: CanvasText;
      --faint: CanvasText;
      --line: CanvasText;
      --paper: Canvas;
      --accent: Highlight;
    }
    .bar [aria-pressed="true"],
    .lines-head[aria-pressed="true"] {
      text-decoration: underline;
    }
    canvas,
    .tokens-one,
    .cells,
    .pointer,
    .swatch,
    tbody td {
      forced-color-adjust: none;
    }
  }
`;

/** The styles of the element itself, before and after those of its views. */
export const kBefore = [base, kFrameStyles, kBarStyles];
export const kAfter = [directions, preferences];
