// SPDX-License-Identifier: Apache-2.0
/** The drawing of tokens in columns, one for each layer, with lines along which one of them comes about. */
import { noChange } from "lit";
import { Directive, directive, type ElementPart } from "lit/directive.js";
import { kSurroundings, type Theme } from "../maps/palette.js";
import type { Line } from "./flow-data.js";

/** The size of the drawing: `pitch` pixels for each of `count` tokens, and `steps` columns. */
export interface Box {
  readonly width: number;
  readonly pitch: number;
  readonly count: number;
  readonly steps: number;
}

interface Node {
  readonly layer: number;
  readonly token: number;
}

/** The space at either side, so that the first and the last dots are whole. */
const kMargin = 12;
const kLargest = 10;

const xOf = ({ width, steps }: Box, layer: number): number =>
  kMargin + (layer * (width - 2 * kMargin)) / Math.max(steps - 1, 1);
const yOf = ({ pitch }: Box, token: number): number => (token + 0.5) * pitch;

export function nearestNode(box: Box, x: number, y: number): Node {
  const { width, steps, pitch, count } = box;
  const layer = Math.round(((x - kMargin) * (steps - 1)) / Math.max(width - 2 * kMargin, 1));
  const inside = (value: number, most: number): number => Math.max(0, Math.min(value, most - 1));
  return { layer: inside(layer, steps), token: inside(Math.floor(y / pitch), count) };
}

function paint(
  canvas: HTMLCanvasElement, box: Box, shares: readonly Float32Array[], lines: readonly Line[],
  node: Node | undefined, theme: Theme,
): void {
  const [width, height] = [box.width, box.pitch * box.count];
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(devicePixelRatio, devicePixelRatio);
  const { ink, line } = kSurroundings[theme];
  const accent = getComputedStyle(canvas).color;
  const touches = ({ layer, row, col }: Line): boolean =>
    (node?.layer === layer + 1 && node.token === row) || (node?.layer === layer && node.token === col);
  for (const of of lines) {
    const { layer, row, col, share } = of;
    context.strokeStyle = touches(of) ? accent : ink;
    context.globalAlpha = 0.15 + 0.75 * Math.sqrt(share);
    context.lineWidth = Math.max(0.75, kLargest * share);
    const [fromX, fromY, toX, toY] = [xOf(box, layer), yOf(box, col), xOf(box, layer + 1), yOf(box, row)];
    const middle = (fromX + toX) / 2;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(middle, fromY, middle, toY, toX, toY);
    context.stroke();
  }
  context.globalAlpha = 1;
  shares.forEach((column, layer) => column.forEach((share, token) => {
    const isNode = node?.layer === layer && node.token === token;
    const most = Math.min(kLargest, box.pitch / 2);
    context.fillStyle = isNode ? accent : share > 0 ? ink : line;
    context.beginPath();
    context.arc(xOf(box, layer), yOf(box, token), Math.max(1, most * Math.sqrt(share)), 0, 2 * Math.PI);
    context.fill();
    if (!isNode) return;
    context.strokeStyle = accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(xOf(box, layer), yOf(box, token), most, 0, 2 * Math.PI);
    context.stroke();
  }));
}

type Arguments = [Box, readonly Float32Array[], readonly Line[], Node | undefined, Theme];

class DrawLines extends Directive {
  #drawn = "";
  #shares: readonly Float32Array[] | undefined;

  override update({ element }: ElementPart, [box, shares, lines, node, theme]: Arguments): unknown {
    const key = JSON.stringify([box, node, theme]);
    if (element instanceof HTMLCanvasElement && (key !== this.#drawn || shares !== this.#shares))
      // The colour of a new canvas is known once it is in the page.
      queueMicrotask(() => paint(element, box, shares, lines, node, theme));
    [this.#drawn, this.#shares] = [key, shares];
    return noChange;
  }

  render(..._given: Arguments): unknown {
    return noChange;
  }
}

/** `<canvas ${drawLines(box, shares, lines, node, theme)}>` paints when something is different. */
export const drawLines = directive(DrawLines);
