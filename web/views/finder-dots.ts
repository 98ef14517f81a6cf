// SPDX-License-Identifier: Apache-2.0
/** The places of heads in the finder's plot, and the ways from one of them to the next. */
import { type AnyMetric, type Ranked, valueOf } from "../heads/ranking.js";
import { headName } from "../state/lists.js";

/** The plot's size in pixels, and the space around it. */
export const kWidth = 400;
export const kHeight = 300;
export const kLeft = 48;
export const kBottom = 36;
export const kEdge = 10;
/** The pointer is at a dot that is so near. */
const kNear = 14;

export interface Dot {
  readonly head: Ranked;
  readonly x: number;
  readonly y: number;
}

export interface Axis {
  readonly metric: AnyMetric;
  readonly min: number;
  readonly max: number;
}

export function axisOf(heads: readonly Ranked[], metric: AnyMetric): Axis {
  const values = heads.map((head) => valueOf(head, metric)).filter((value) => value !== null);
  if (values.length === 0) return { metric, min: NaN, max: NaN };
  return { metric, min: Math.min(...values), max: Math.max(...values) };
}

/** The place of a value between 0 and 1. Values that are all the same stand in the middle. */
const shareOf = ({ min, max }: Axis, value: number): number => (max > min ? (value - min) / (max - min) : 0.5);

/** The dots of the heads that have both metrics. */
export function dotsOf(heads: readonly Ranked[], across: Axis, up: Axis): Dot[] {
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

/** The dot at the pointer. */
export function nearest(dots: readonly Dot[], x: number, y: number): Dot | undefined {
  let [best, least]: [Dot | undefined, number] = [undefined, kNear];
  for (const dot of dots) {
    const distance = Math.hypot(dot.x - x, dot.y - y);
    if (distance < least) [best, least] = [dot, distance];
  }
  return best;
}

const kDirections: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

/** The dot to which a key leads from the one at `from`, which is itself where there is no other; undefined for other keys. */
export function dotTowards(dots: readonly Dot[], from: number, key: string): Dot | undefined {
  if (key === "Home") return dots[0];
  if (key === "End") return dots.at(-1);
  const here = dots[from];
  const direction = kDirections[key];
  if (!here || !direction) return undefined;
  const [right, down] = direction;
  const sign = right + down;
  let [best, least] = [here, Infinity];
  dots.forEach((dot, index) => {
    const [dx, dy] = [dot.x - here.x, dot.y - here.y];
    const along = dx * right + dy * down;
    const aside = Math.abs(dx * down + dy * right);
    // Dots at one place follow each other in the order of heads, to the right and back to the left.
    const isNext = dx === 0 && dy === 0 && right !== 0 && (index - from) * sign > 0;
    if (!isNext && along <= 0) return;
    // A dot that lies aside by more than it lies ahead is only reached where nothing is nearer to the direction.
    const distance = isNext ? 0 : Math.hypot(dx, dy) + (aside > along ? kWidth + kHeight : 0);
    if (distance < least || (distance === least && sign < 0)) [best, least] = [dot, distance];
  });
  return best;
}

export const dotOf = (dots: readonly Dot[], word: string | undefined): Dot | undefined =>
  dots.find(({ head }) => headName(head) === word);
