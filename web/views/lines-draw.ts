// SPDX-License-Identifier: Apache-2.0
/** Lines of links on a canvas, drawn in a few strokes: those of one colour, sign and strength share a path. */
import type { Theme } from "../maps/palette.js";
import type { Link } from "./lines-links.js";

/** Colours that readers with any colour vision tell apart, for heads that are drawn together. */
export const kHeadColors: Readonly<Record<Theme, readonly string[]>> = {
  light: ["#0072b2", "#d55e00", "#00805f", "#a8327e", "#7a5c00", "#3a9bdc", "#5b2a86", "#444444"],
  dark: ["#56b4e9", "#ff8c42", "#2fc79a", "#f3a0cf", "#f0e442", "#8fa8ff", "#c07cff", "#dddddd"],
};

const kBuckets = 8;
const kWidest = 4;

/** Where a link begins and ends, in pixels of the canvas. */
export type Ends = (link: Link) => readonly [x: number, y: number, toX: number, toY: number];

/** The lines of one head. */
export interface Bundle {
  readonly color: string;
  readonly links: readonly Link[];
  /** The weight of the strongest line. */
  readonly most: number;
  /** The distance by which lines are shifted along the tokens, so that those of other heads are seen, too. */
  readonly shift: number;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

/** `isArcs` draws arcs above a line of tokens, and curves between two columns otherwise. */
export function drawLines(
  canvas: HTMLCanvasElement, { width, height }: Box, bundles: readonly Bundle[], ends: Ends, isArcs: boolean,
): void {
  const ratio = devicePixelRatio;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const shape = isArcs ? arc : curve;
  for (const { color, links, most, shift } of bundles) {
    const paths = new Map<number, Path2D>();
    for (const link of links) {
      const strength = Math.min(Math.sqrt(Math.abs(link.weight) / (most || 1)), 1);
      const bucket = Math.max(Math.ceil(strength * kBuckets), 1) * (link.weight < 0 ? -1 : 1);
      const path = paths.get(bucket) ?? new Path2D();
      paths.set(bucket, path);
      shape(path, ends(link), height);
    }
    context.setTransform(ratio, 0, 0, ratio, isArcs ? shift * ratio : 0, isArcs ? 0 : shift * ratio);
    context.strokeStyle = color;
    for (const [bucket, path] of [...paths].sort(([a], [b]) => Math.abs(a) - Math.abs(b))) {
      const strength = Math.abs(bucket) / kBuckets;
      context.globalAlpha = 0.06 + 0.94 * strength ** 2;
      context.lineWidth = 0.75 + (kWidest - 0.75) * strength ** 2;
      context.setLineDash(bucket < 0 ? [4, 3] : []);
      context.stroke(path);
    }
  }
}

function curve(path: Path2D, [x, y, toX, toY]: ReturnType<Ends>): void {
  const lean = (toX - x) / 2;
  path.moveTo(x, y);
  path.bezierCurveTo(x + lean, y, toX - lean, toY, toX, toY);
}

function arc(path: Path2D, [x, y, toX, toY]: ReturnType<Ends>, height: number): void {
  const rise = (4 / 3) * Math.min(12 + Math.abs(toX - x) / 2.5, height - 8);
  // A token that looks at itself has a small loop.
  const lean = x === toX ? 10 : 0;
  path.moveTo(x, y);
  path.bezierCurveTo(x - lean, y - rise, toX + lean, toY - rise, toX, toY);
}
