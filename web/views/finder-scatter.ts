// SPDX-License-Identifier: Apache-2.0
/** The finder's plot: each head is a dot at two of its metrics. A rectangle that is dragged around dots marks their heads. */
import { css, html, nothing, svg } from "lit";
import type { SVGTemplateResult, TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { AnyMetric, Ranked } from "../heads/ranking.js";
import {
  type Axis, axisOf, type Dot, dotOf, dotsOf, dotTowards, kBottom, kEdge, kHeight, kLeft, kWidth, nearest,
} from "./finder-dots.js";
import { headWord, metricWords, valueText } from "./finder-table.js";

const kRadius = 4;
/** A drag of fewer pixels is a click. */
const kClick = 4;

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Plot {
  readonly heads: readonly Ranked[];
  readonly x: AnyMetric;
  readonly y: AnyMetric;
  readonly marked: ReadonlySet<string>;
  readonly silenced: ReadonlySet<string>;
  readonly open: string;
  /** The head whose dot is the tab stop, if it has one. */
  readonly stop: string;
  readonly hovered: string | undefined;
  /** The rectangle that is being dragged. */
  readonly brush: Box | undefined;
  /** The place, the name and the two metrics of a head. */
  describe(this: void, head: Ranked): readonly string[];
  hover(this: void, head: Ranked | undefined): void;
  drag(this: void, box: Box | undefined): void;
  /** Called with the heads of the rectangle that was dragged. */
  mark(this: void, heads: readonly Ranked[], isMore: boolean): void;
  /** Opens a head, or marks it with Shift. */
  choose(this: void, head: Ranked, keys: { readonly shiftKey: boolean }): void;
  /** Called when a key leads to this head. */
  move(this: void, head: Ranked): void;
}

/** The pointer's place in the plot's pixels, which the page may show smaller. */
function placeOf(event: PointerEvent): [x: number, y: number] {
  const { left, top, width, height } = (event.currentTarget as Element).getBoundingClientRect();
  return [((event.clientX - left) / width) * kWidth, ((event.clientY - top) / height) * kHeight];
}

export function finderPlot(plot: Plot): TemplateResult {
  const [across, up] = [axisOf(plot.heads, plot.x), axisOf(plot.heads, plot.y)];
  const dots = dotsOf(plot.heads, across, up);
  const [open, hovered] = [dotOf(dots, plot.open), dotOf(dots, plot.hovered)];
  const stop = dotOf(dots, plot.stop) ?? open ?? dots[0];
  const label = `${metricWords(plot.y)} against ${metricWords(plot.x)} of ${dots.length} heads, which the table has as numbers`;
  const absent = plot.heads.length - dots.length;
  const words = absent > 0 ? `${absent} heads have no value here.` : "Drag a rectangle, or press the space bar at a dot, to mark heads.";
  return html`
    <svg class="finder-plot" part="plot" role="group" aria-label="Plot" viewBox="0 0 ${kWidth} ${kHeight}"
      @pointerdown=${onDown(plot)} @pointermove=${onMove(plot, dots)} @pointerup=${onUp(plot, dots)}
      @pointercancel=${(): void => end(plot)} @pointerleave=${(): void => plot.hover(undefined)}>
      ${axes(across, up)}
      <g role="listbox" aria-multiselectable="true" aria-label=${label} @keydown=${onKey(plot, dots)}>
        ${repeat(dots, ({ head }) => headWord(head), (dot) => point(plot, dot, dot === stop))}
      </g>
      ${open ? svg`<circle class="finder-ring" cx=${open.x} cy=${open.y} r=${kRadius + 4}></circle>` : nothing}
      ${hovered ? pointed(hovered) : nothing}
      ${plot.brush ? brush(plot.brush) : nothing}
    </svg>
    <p class="finder-readout" aria-hidden="true">${hovered ? plot.describe(hovered.head).join(" · ") : words}</p>
  `;
}

function point(plot: Plot, { head, x, y }: Dot, isStop: boolean): SVGTemplateResult {
  const word = headWord(head);
  const isMarked = plot.marked.has(word);
  const states = [word === plot.open ? ", open" : "", plot.silenced.has(word) ? ", silenced" : ""].join("");
  // A marked dot is larger, so that its colour is not all that tells it from the others.
  return svg`<circle class=${isMarked ? "finder-dot marked" : "finder-dot"} role="option" data-dot=${word} tabindex=${isStop ? 0 : -1}
    aria-selected=${isMarked ? "true" : "false"} aria-label=${`head ${plot.describe(head).join(", ")}${states}`}
    cx=${x} cy=${y} r=${isMarked ? kRadius + 1.5 : kRadius} @focus=${(): void => plot.hover(head)}></circle>`;
}

const onKey = (plot: Plot, dots: readonly Dot[]) => (event: KeyboardEvent): void => {
  const word = (event.target as SVGElement).dataset.dot;
  const from = dots.findIndex(({ head }) => headWord(head) === word);
  const here = dots[from];
  if (!here || event.altKey || event.metaKey || event.ctrlKey) return;
  const to = dotTowards(dots, from, event.key);
  if (to) plot.move(to.head);
  else if (event.key === "Enter") plot.choose(here.head, event);
  else if (event.key === " ") plot.choose(here.head, { shiftKey: true });
  else return;
  event.preventDefault();
};

function axes(across: Axis, up: Axis): SVGTemplateResult {
  const bottom = kHeight - kBottom;
  const right = kWidth - kEdge;
  return svg`
    <path class="finder-axis" d="M${kLeft} 0V${bottom}H${kWidth}"></path>
    <text x=${kLeft + kEdge} y=${bottom + 14}>${valueText(across.min)}</text>
    <text x=${right} y=${bottom + 14} text-anchor="end">${valueText(across.max)}</text>
    <text class="finder-axis-name" x=${(kLeft + kWidth) / 2} y=${bottom + 30} text-anchor="middle">${metricWords(across.metric)}</text>
    <text x=${kLeft - 4} y=${bottom - kEdge + 4} text-anchor="end">${valueText(up.min)}</text>
    <text x=${kLeft - 4} y=${kEdge + 4} text-anchor="end">${valueText(up.max)}</text>
    <text class="finder-axis-name" x=${-bottom / 2} y="12" text-anchor="middle" transform="rotate(-90)">${metricWords(up.metric)}</text>
  `;
}

function pointed({ head, x, y }: Dot): SVGTemplateResult {
  const isRight = x > kWidth - 60;
  return svg`
    <circle class="finder-ring hovered" cx=${x} cy=${y} r=${kRadius + 2}></circle>
    <text class="finder-axis-name" x=${isRight ? x - 10 : x + 10} y=${Math.max(y - 6, 12)} text-anchor=${isRight ? "end" : "start"}>${headWord(head)}</text>
  `;
}

const brush = ({ left, top, right, bottom }: Box): SVGTemplateResult =>
  svg`<rect class="finder-brush" x=${left} y=${top} width=${right - left} height=${bottom - top}></rect>`;

/** The place where a drag began. There is one pointer at a time. */
let begin: readonly [x: number, y: number] | undefined;

const onDown = (plot: Plot) => (event: PointerEvent): void => {
  if (event.button !== 0) return;
  begin = placeOf(event);
  (event.currentTarget as Element).setPointerCapture(event.pointerId);
  plot.hover(undefined);
};

const onMove = (plot: Plot, dots: readonly Dot[]) => (event: PointerEvent): void => {
  const [x, y] = placeOf(event);
  if (!begin) return plot.hover(nearest(dots, x, y)?.head);
  const [fromX, fromY] = begin;
  if (!plot.brush && Math.hypot(x - fromX, y - fromY) < kClick) return;
  const inside = (value: number, most: number): number => Math.max(0, Math.min(value, most));
  plot.drag({
    left: inside(Math.min(x, fromX), kWidth),
    right: inside(Math.max(x, fromX), kWidth),
    top: inside(Math.min(y, fromY), kHeight),
    bottom: inside(Math.max(y, fromY), kHeight),
  });
};

function end(plot: Plot): void {
  begin = undefined;
  plot.drag(undefined);
}

const onUp = (plot: Plot, dots: readonly Dot[]) => (event: PointerEvent): void => {
  if (!begin) return;
  const box = plot.brush;
  if (!box) {
    begin = undefined;
    const dot = nearest(dots, ...placeOf(event));
    if (dot) plot.choose(dot.head, event);
    else plot.mark([], event.shiftKey);
    return;
  }
  end(plot);
  const isInside = ({ x, y }: Dot): boolean => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  plot.mark(dots.filter(isInside).map(({ head }) => head), event.shiftKey);
};

export const plotStyles = css`
  .finder-plot {
    display: block;
    width: 100%;
    max-width: 480px;
    cursor: crosshair;
    direction: ltr;
    touch-action: pan-y;
    user-select: none;
  }
  .finder-plot text {
    fill: var(--faint);
    font: 12px var(--mono);
  }
  .finder-plot .finder-axis-name {
    fill: var(--ink);
  }
  .finder-axis {
    fill: none;
    stroke: var(--line);
  }
  .finder-dot {
    fill: color-mix(in oklab, var(--ink) 45%, transparent);
    stroke: var(--paper);
  }
  .finder-dot.marked {
    fill: var(--accent);
    stroke: var(--ink);
    stroke-width: 2;
  }
  .finder-ring {
    fill: none;
    stroke: var(--accent);
    stroke-width: 2;
  }
  .finder-ring.hovered {
    stroke: var(--ink);
  }
  .finder-brush {
    fill: color-mix(in oklab, var(--accent) 15%, transparent);
    stroke: var(--accent);
  }
  .finder-readout {
    min-height: 32px;
    margin: 0;
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
`;
