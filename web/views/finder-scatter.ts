// SPDX-License-Identifier: Apache-2.0
/** The finder's plot: each head is a dot at two of its metrics. A rectangle that is dragged around dots marks their heads. */
import { css, html, nothing, svg } from "lit";
import type { SVGTemplateResult, TemplateResult } from "lit";
import type { AnyMetric, Ranked } from "../heads/ranking.js";
import { headWord, valueOf, valueText } from "./finder-table.js";

/** The plot's size in pixels, and the space around it. */
const kWidth = 400;
const kHeight = 300;
const kLeft = 48;
const kBottom = 36;
const kEdge = 10;
const kRadius = 4;
/** The pointer is at a dot that is so near. */
const kNear = 14;
/** A drag of fewer pixels is a click. */
const kClick = 4;

interface Dot {
  readonly head: Ranked;
  readonly x: number;
  readonly y: number;
}

interface Axis {
  readonly metric: AnyMetric;
  readonly min: number;
  readonly max: number;
}

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
  readonly open: string;
  readonly hovered: string | undefined;
  /** The rectangle that is being dragged. */
  readonly brush: Box | undefined;
  describe(this: void, head: Ranked): string;
  hover(this: void, head: Ranked | undefined): void;
  drag(this: void, box: Box | undefined): void;
  /** Called with the heads of the rectangle that was dragged. */
  mark(this: void, heads: readonly Ranked[], isMore: boolean): void;
  choose(this: void, head: Ranked, event: MouseEvent): void;
}

function axisOf(heads: readonly Ranked[], metric: AnyMetric): Axis {
  const values = heads.map((head) => valueOf(head, metric)).filter((value) => value !== null);
  if (values.length === 0) return { metric, min: NaN, max: NaN };
  return { metric, min: Math.min(...values), max: Math.max(...values) };
}

/** The place of a value between 0 and 1. Values that are all the same stand in the middle. */
const shareOf = ({ min, max }: Axis, value: number): number => (max > min ? (value - min) / (max - min) : 0.5);

/** The dots of the heads that have both metrics. */
function dotsOf(heads: readonly Ranked[], across: Axis, up: Axis): Dot[] {
  return heads.flatMap((head) => {
    const [x, y] = [valueOf(head, across.metric), valueOf(head, up.metric)];
    if (x === null || y === null) return [];
    return [{
      head,
      x: kLeft + kEdge + shareOf(across, x) * (kWidth - kLeft - 2 * kEdge),
      y: kHeight - kBottom - kEdge - shareOf(up, y) * (kHeight - kBottom - 2 * kEdge),
    }];
  });
}

const circle = ({ x, y }: Dot): string => `M${x - kRadius} ${y}a${kRadius} ${kRadius} 0 1 0 ${2 * kRadius} 0a${kRadius} ${kRadius} 0 1 0 ${-2 * kRadius} 0`;

const pathOf = (dots: readonly Dot[]): string => dots.map(circle).join("");

function nearest(dots: readonly Dot[], x: number, y: number): Dot | undefined {
  let [best, least]: [Dot | undefined, number] = [undefined, kNear];
  for (const dot of dots) {
    const distance = Math.hypot(dot.x - x, dot.y - y);
    if (distance < least) [best, least] = [dot, distance];
  }
  return best;
}

/** The pointer's place in the plot's pixels, which the page may show smaller. */
function placeOf(event: PointerEvent): [x: number, y: number] {
  const { left, top, width, height } = (event.currentTarget as Element).getBoundingClientRect();
  return [((event.clientX - left) / width) * kWidth, ((event.clientY - top) / height) * kHeight];
}

export function finderPlot(plot: Plot): TemplateResult {
  const [across, up] = [axisOf(plot.heads, plot.x), axisOf(plot.heads, plot.y)];
  const dots = dotsOf(plot.heads, across, up);
  const isMarked = ({ head }: Dot): boolean => plot.marked.has(headWord(head));
  const open = dots.find(({ head }) => headWord(head) === plot.open);
  const hovered = dots.find(({ head }) => headWord(head) === plot.hovered);
  const label = `${plot.y} against ${plot.x} of ${dots.length} heads, which the table has as numbers`;
  const absent = plot.heads.length - dots.length;
  return html`
    <svg class="finder-plot" part="plot" role="img" aria-label=${label} viewBox="0 0 ${kWidth} ${kHeight}"
      @pointerdown=${onDown(plot)} @pointermove=${onMove(plot, dots)} @pointerup=${onUp(plot, dots)}
      @pointercancel=${(): void => end(plot)} @pointerleave=${(): void => plot.hover(undefined)}>
      ${axes(across, up)}
      <path class="finder-dots" d=${pathOf(dots.filter((dot) => !isMarked(dot)))}></path>
      <path class="finder-dots marked" d=${pathOf(dots.filter(isMarked))}></path>
      ${open ? svg`<circle class="finder-ring" cx=${open.x} cy=${open.y} r=${kRadius + 4}></circle>` : nothing}
      ${hovered ? pointed(hovered) : nothing}
      ${plot.brush ? brush(plot.brush) : nothing}
    </svg>
    <p class="finder-readout" aria-hidden="true">${hovered ? plot.describe(hovered.head) : absent > 0 ? `${absent} heads have no value here.` : "Drag a rectangle to mark heads."}</p>
  `;
}

function axes(across: Axis, up: Axis): SVGTemplateResult {
  const bottom = kHeight - kBottom;
  const right = kWidth - kEdge;
  return svg`
    <path class="finder-axis" d="M${kLeft} 0V${bottom}H${kWidth}"></path>
    <text x=${kLeft + kEdge} y=${bottom + 14}>${valueText(across.min)}</text>
    <text x=${right} y=${bottom + 14} text-anchor="end">${valueText(across.max)}</text>
    <text class="finder-axis-name" x=${(kLeft + kWidth) / 2} y=${bottom + 30} text-anchor="middle">${across.metric}</text>
    <text x=${kLeft - 4} y=${bottom - kEdge + 4} text-anchor="end">${valueText(up.min)}</text>
    <text x=${kLeft - 4} y=${kEdge + 4} text-anchor="end">${valueText(up.max)}</text>
    <text class="finder-axis-name" x=${-bottom / 2} y="12" text-anchor="middle" transform="rotate(-90)">${up.metric}</text>
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
    font: 11px var(--mono);
  }
  .finder-plot .finder-axis-name {
    fill: var(--ink);
  }
  .finder-axis {
    fill: none;
    stroke: var(--line);
  }
  .finder-dots {
    fill: color-mix(in oklab, var(--ink) 45%, transparent);
    stroke: var(--paper);
  }
  .finder-dots.marked {
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
