// SPDX-License-Identifier: Apache-2.0
/** The styles of figures, for the page's style sheet and for the element's shadow. */
import { css, unsafeCSS } from "lit";
import type { CSSResult } from "lit";
import { kSurroundings } from "../../maps/palette.js";
import { kScrolledStyles } from "../../views/scrolled.js";
import { kSegmentStyles } from "../../views/segments.js";
import { toneStyles } from "./tones.js";

const ofTheme = (name: keyof (typeof kSurroundings)["light"]): CSSResult =>
  unsafeCSS(`light-dark(${kSurroundings.light[name]}, ${kSurroundings.dark[name]})`);

/** The element's own colours, where the page around it gives none. */
export const kHostStyles = css`
  :host {
    --ink: var(--attention-ink, ${ofTheme("ink")});
    --faint: var(--attention-faint, ${ofTheme("faint")});
    --line: var(--attention-line, ${ofTheme("line")});
    --field: var(--attention-paper, ${ofTheme("paper")});
    --accent: var(--attention-accent, light-dark(#b4460a, #ff9d5c));
    display: block;
    font: 16px/24px system-ui, sans-serif;
  }
  :host([hidden]) {
    display: none;
  }
`;

export const figureStyles = (): CSSResult => css`
  .figure {
    --paper: var(--field); /* parts of the viewer's views stand on it */
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
    --stripe: ${ofTheme("stripe")};
    --hatch: linear-gradient(to bottom right, transparent calc(50% - 0.5px), var(--stripe) calc(50% - 0.5px) calc(50% + 0.5px), transparent calc(50% + 0.5px)) 0 0 / 6px 6px;
    padding: 16px;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--field);
    color: var(--ink);
    font-size: 15px;
    line-height: 22px;
    text-align: start;
  }
  .figure *,
  .figure *::before {
    box-sizing: border-box;
  }
  .figure p,
  .figure ul,
  .figure ol,
  .figure figure {
    margin: 0;
    padding: 0;
  }
  .figure .claim {
    margin-bottom: 16px;
    font-size: 18px;
    line-height: 26px;
    font-weight: 600;
    text-wrap: pretty;
  }
  .figure :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  .controls {
    display: flex;
    flex-wrap: wrap;
    align-items: end;
    gap: 12px 24px;
    margin-bottom: 16px;
  }
  .controls label,
  .choice legend {
    color: var(--faint);
    font-size: 14px;
  }
  .slider {
    display: grid;
    flex: 0 1 240px;
  }
  .slider b {
    color: var(--ink);
    font-weight: 600;
    font-variant-numeric: tabular-nums;
  }
  .slider input {
    width: 100%;
    min-height: 28px;
    margin: 0;
    accent-color: var(--accent);
  }
  .choice {
    min-width: 0;
    margin: 0;
    padding: 0;
    border: 0;
  }
  ${kSegmentStyles}
  ${kScrolledStyles}
  .check {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
    cursor: pointer;
  }
  .check input {
    width: 18px;
    height: 18px;
    margin: 0;
    accent-color: var(--accent);
  }
  .words {
    display: grid;
    flex: 1 1 280px;
  }
  .words input {
    min-height: 36px;
    padding: 4px 8px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: transparent;
    color: var(--ink);
    font: inherit;
    font-size: 16px;
  }
  .scene {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 20px;
  }
  .figure .row-title {
    font-size: 15px;
    font-weight: 600;
  }
  .row .about {
    color: var(--faint);
    font-size: 14px;
  }
  .items {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 12px 16px;
    overflow-x: auto;
    overscroll-behavior-x: contain;
    padding: 4px;
  }
  .sign {
    color: var(--faint);
    font-size: 18px;
  }
  .figure table {
    border-collapse: separate;
    border-spacing: 1px;
    direction: ltr;
    font-size: 13px;
    line-height: 18px;
    font-variant-numeric: tabular-nums;
  }
  .figure caption {
    padding-bottom: 2px;
    text-align: start;
    white-space: nowrap;
  }
  .figure caption small {
    color: var(--faint);
    font-size: 12px;
  }
  .figure th {
    padding: 0 6px;
    color: var(--faint);
    font-weight: 400;
    white-space: nowrap;
  }
  .figure tbody th {
    text-align: end;
  }
  .matrix {
    border-radius: 4px;
    outline: 2px solid transparent;
    outline-offset: 2px;
  }
  .matrix.whole {
    outline-color: var(--accent);
  }
  .bars.whole,
  .curve.whole,
  .picture.whole,
  .sentence.whole,
  .shape.whole,
  .view.whole {
    outline: 2px solid var(--accent);
    outline-offset: 4px;
  }
  .matrix td[data-row] {
    min-width: 52px;
    padding: 3px 6px;
    font-family: var(--mono);
    font-size: 12px;
    text-align: end;
    print-color-adjust: exact;
    -webkit-print-color-adjust: exact;
  }
  .matrix .masked {
    background: var(--hatch);
    color: var(--faint);
  }
  .matrix .marked {
    box-shadow: inset 0 0 0 2px var(--ink);
  }
  .matrix .lit {
    box-shadow: inset 0 0 0 2px var(--accent);
  }
  .matrix td[data-row]:has(input) {
    padding: 0;
  }
  .matrix td input {
    width: 64px;
    min-height: 28px;
    padding: 3px 4px;
    border: 0;
    border-bottom: 2px dotted currentColor;
    background: transparent;
    color: inherit;
    font: inherit;
    text-align: end;
    cursor: ns-resize;
    touch-action: none;
    opacity: 1;
  }
  .sentence {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    list-style: none;
  }
  .sentence li,
  .sentence button {
    display: grid;
    justify-items: center;
    min-width: 0;
    padding: 0;
    border: 0;
    background: none;
    color: inherit;
    font: inherit;
  }
  .sentence button:not(:disabled) {
    cursor: pointer;
  }
  .word {
    padding: 4px 8px;
    border-radius: 4px;
    font-size: 18px;
    line-height: 26px;
    white-space: pre;
    print-color-adjust: exact;
    -webkit-print-color-adjust: exact;
  }
  .sentence .query .word {
    box-shadow: inset 0 0 0 2px var(--accent);
  }
  .sentence small {
    color: var(--faint);
    font-size: 12px;
    line-height: 16px;
    font-variant-numeric: tabular-nums;
  }
  /* Bars fit any room, so that nothing has to be scrolled. */
  .bars caption,
  .bars th {
    white-space: normal;
  }
  .bars svg {
    display: block;
    width: clamp(64px, 20vw, 160px);
    height: 12px;
  }
  .bars .positive {
    fill: light-dark(#2a6fb0, #7db4ea);
  }
  .bars .negative {
    fill: var(--accent);
  }
  .bars .number {
    font-family: var(--mono);
    font-size: 12px;
    text-align: end;
  }
  .curve {
    position: relative;
    flex: 1 1 320px;
    max-width: 480px;
    overflow: hidden;
  }
  .curve svg {
    display: block;
    width: 100%;
    font-size: 12px;
  }
  .curve text {
    fill: var(--faint);
  }
  .curve path,
  .curve polyline {
    fill: none;
    stroke: var(--faint);
  }
  .curve .at {
    stroke: var(--accent);
    stroke-dasharray: 2 3;
  }
  .curve .line {
    stroke-width: 2;
  }
  .curve .line0 {
    stroke: light-dark(#2a6fb0, #7db4ea);
  }
  .curve .line1 {
    stroke: var(--accent);
    stroke-dasharray: 6 3;
  }
  .curve .line2 {
    stroke: light-dark(#5c7a1f, #b2d26a);
    stroke-dasharray: 2 2;
  }
  .curve .name {
    stroke: none;
    fill: var(--ink);
  }
  .plane {
    position: relative;
    overflow: hidden;
    flex: 0 1 260px;
    min-width: 200px;
  }
  .plane svg {
    display: block;
    width: 100%;
    font-size: 12px;
  }
  .plane .grid {
    stroke: var(--line);
  }
  .plane .axis {
    stroke: var(--faint);
  }
  .plane .area {
    fill: light-dark(#2a6fb022, #7db4ea33);
  }
  .plane text {
    fill: var(--ink);
    paint-order: stroke;
    stroke: var(--field);
    stroke-width: 3px;
  }
  .plane .number {
    fill: var(--faint);
  }
  .plane .arrow {
    stroke-width: 2.5;
  }
  .plane .arrow.mark0 {
    stroke-width: 7;
  }
  .plane .mark0 {
    fill: light-dark(#2a6fb0, #7db4ea);
    stroke: light-dark(#2a6fb0, #7db4ea);
  }
  .plane .mark1 {
    fill: light-dark(#5c7a1f, #b2d26a);
    stroke: light-dark(#5c7a1f, #b2d26a);
  }
  .plane .mark2 {
    fill: light-dark(#7a4fa3, #c9a4ee);
    stroke: light-dark(#7a4fa3, #c9a4ee);
  }
  .plane .result {
    fill: var(--accent);
    stroke: var(--accent);
  }
  .plane .hold {
    fill: transparent;
    stroke: none;
    cursor: grab;
    touch-action: none;
  }
  .plane .faint {
    opacity: 0.4;
  }
  .shape {
    display: grid;
    justify-items: center;
    gap: 2px;
  }
  .shape ol {
    display: flex;
    border: 1px solid var(--line);
    border-radius: 4px;
    list-style: none;
  }
  .shape li {
    display: grid;
    justify-items: center;
    min-width: 36px;
    padding: 2px 8px;
  }
  .shape li + li {
    border-inline-start: 1px solid var(--line);
  }
  .shape b {
    font-weight: 600;
    font-variant-numeric: tabular-nums;
  }
  .shape i {
    color: var(--faint);
    font-size: 12px;
    line-height: 14px;
    font-style: normal;
  }
  .picture figcaption {
    padding-bottom: 2px;
    font-size: 13px;
    line-height: 18px;
  }
  .picture svg {
    display: block;
    max-width: 100%;
    height: auto;
    shape-rendering: crispEdges;
    print-color-adjust: exact;
    -webkit-print-color-adjust: exact;
  }
  .picture rect {
    fill: var(--line);
    stroke: var(--field);
    stroke-width: 0.5px;
    vector-effect: non-scaling-stroke;
  }
  .picture .halo,
  .picture .query {
    fill: none;
    stroke-width: 5px;
  }
  .picture .query {
    stroke: var(--accent);
    stroke-width: 2px;
  }
  .picture.chosen rect {
    cursor: pointer;
  }
  .note.error {
    padding: 8px 12px;
    border-inline-start: 3px solid var(--accent);
    font-family: var(--mono);
    font-size: 13px;
    overflow-wrap: anywhere;
  }
  .figure .view {
    width: 100%;
  }
  .figure .view::part(export) {
    display: none;
  }
  .figure .sum {
    display: block;
    min-height: 44px;
    margin-top: 8px;
    color: var(--faint);
    font-size: 13px;
    overflow-wrap: anywhere;
  }
  .figure .formula {
    margin-top: 12px;
    font-size: 17px;
    overflow-wrap: anywhere;
  }
  .formula .part {
    border-bottom: 2px dotted var(--accent);
    border-radius: 2px;
    cursor: default;
  }
  .formula .part.lit {
    background: var(--accent);
    color: var(--field);
  }
  .figure .says {
    margin-top: 12px;
    list-style: none;
  }
  .says li + li {
    margin-top: 4px;
  }
  .figure .question {
    margin-top: 16px;
    padding-top: 12px;
    border-top: 1px solid var(--line);
  }
  .figure .claim + .question {
    margin: 0 0 16px;
    padding: 0 0 12px;
    border-top: 0;
    border-bottom: 1px solid var(--line);
  }
  .question summary {
    cursor: pointer;
  }
  .question ul {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    margin: 8px 0;
    list-style: none;
  }
  .question button {
    min-height: 36px;
    padding: 4px 12px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: none;
    color: inherit;
    font: inherit;
    text-align: start;
    cursor: pointer;
  }
  .question button[aria-pressed="true"] {
    border-color: var(--ink);
  }
  .question .right::after {
    content: " ✓";
  }
  .question .wrong::after {
    content: " ✗";
  }
  .figure .trouble {
    color: var(--accent);
  }
  .figure .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .figure .unscripted {
    display: none;
  }
  @media (scripting: none) {
    .figure .unscripted {
      display: block;
    }
    .figure .controls,
    .figure .scripted {
      display: none;
    }
  }
  @media print {
    .figure .sum {
      display: none;
    }
  }
  @media (pointer: coarse) {
    .sentence button,
    .question button,
    .segments label,
    .check {
      min-height: 44px;
      align-items: center;
    }
    .matrix td input {
      min-height: 44px;
    }
  }
  ${toneStyles()}
`;
