// SPDX-License-Identifier: Apache-2.0
/** Lines of links on a canvas, drawn in a few strokes: those of one colour, sign and strength share a path. */
import type { Theme } from "../maps/palette.js";
import type { Link } from "./lines-links.js";

/**
 * Colours for heads that are drawn together. They were chosen to lie as far apart in OKLab as they can, for eyes with all
 * cones and for those without one for red or green, with a contrast of at least 3 to the ground.
 */
export const kHeadColors: Readonly<Record<Theme, readonly string[]>> = {
  light: [
    "#2d3acc", "#ac8b26", "#c11a8e", "#2a6056", "#5a91d7", "#893a0e", "#7960fb", "#77744a", "#4c0c49", "#ca6e8c", "#150f85", "#3f2903",
  ],
  dark: [
    "#58cef8", "#dc855d", "#69d6aa", "#b180fc", "#b0eaf4", "#e62e1e", "#7adb29", "#a25281", "#445def", "#ad94b9", "#79ff9c", "#7974c5",
  ],
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
  /** Written at one of the strongest lines; empty for none. */
  readonly name: string;
}

interface Ground {
  readonly ink: string;
  readonly paper: string;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

/** `isArcs` draws arcs above a line of tokens, and curves between two columns otherwise. */
export function drawLines(
  canvas: HTMLCanvasElement, { width, height }: Box, bundles: readonly Bundle[], ends: Ends, isArcs: boolean,
  ground: Ground,
): void {
  const ratio = devicePixelRatio;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const pointsOf = isArcs ? arcPoints : curvePoints;
  for (const { color, links, most, shift } of bundles) {
    const paths = new Map<number, Path2D>();
    for (const link of links) {
      const strength = Math.min(Math.sqrt(Math.abs(link.weight) / (most || 1)), 1);
      const bucket = Math.max(Math.ceil(strength * kBuckets), 1) * (link.weight < 0 ? -1 : 1);
      const path = paths.get(bucket) ?? new Path2D();
      paths.set(bucket, path);
      const [x, y, ...rest] = pointsOf(ends(link), height);
      path.moveTo(x, y);
      path.bezierCurveTo(...rest);
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
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.setLineDash([]);
  const on = (link: Link): Points => pointsOf(ends(link), height);
  for (const { name, x, y } of namesBeside(bundles, on, isArcs)) write(context, name, x, y, ground);
}

interface Name {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

/** The room that a name takes, and the places along a line where it may stand. */
const [kNameWidth, kNameHeight] = [32, 13];
const kAlong = [0.5, 0.35, 0.65, 0.2, 0.8];
/** The strongest lines of a head of which one is named. */
const kTried = 24;

/** A name at one of the strongest lines of each head, so that no name covers another. */
function namesBeside(bundles: readonly Bundle[], on: (link: Link) => Points, isArcs: boolean): Name[] {
  const names: Name[] = [];
  for (const { name, links, shift } of bundles) {
    if (name === "") continue;
    const strongest = [...links].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, kTried);
    const places = strongest.flatMap((link) => kAlong.map((along): Name => {
      const [x, y] = pointOn(on(link), along);
      return { name, x: isArcs ? x + shift : x, y: isArcs ? y : y + shift };
    }));
    const isFree = ({ x, y }: Name): boolean =>
      names.every((other) => Math.abs(other.x - x) >= kNameWidth || Math.abs(other.y - y) >= kNameHeight);
    const place = places.find(isFree) ?? places[0];
    if (place) names.push(place);
  }
  return names;
}

function write(context: CanvasRenderingContext2D, name: string, x: number, y: number, { ink, paper }: Ground): void {
  context.font = "11px ui-monospace, monospace";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = paper;
  context.fillStyle = ink;
  context.strokeText(name, x, y);
  context.fillText(name, x, y);
}

/** The four points of a Bézier curve, each as x and y. */
type Points = readonly [number, number, number, number, number, number, number, number];

function curvePoints([x, y, toX, toY]: ReturnType<Ends>): Points {
  const lean = (toX - x) / 2;
  return [x, y, x + lean, y, toX - lean, toY, toX, toY];
}

function arcPoints([x, y, toX, toY]: ReturnType<Ends>, height: number): Points {
  const rise = (4 / 3) * Math.min(12 + Math.abs(toX - x) / 2.5, height - 8);
  // A token that looks at itself has a small loop.
  const lean = x === toX ? 10 : 0;
  return [x, y, x - lean, y - rise, toX + lean, toY - rise, toX, toY];
}

/** The point of a curve at `t`, from 0 to 1. */
function pointOn([x0, y0, x1, y1, x2, y2, x3, y3]: Points, t: number): readonly [x: number, y: number] {
  const [a, b, c, d] = [(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2, t ** 3];
  return [a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3];
}
