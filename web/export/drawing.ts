// SPDX-License-Identifier: Apache-2.0
/** The visible content of an element as shapes and words in CSS pixels, of which pictures of any format are made. */
import { kSurroundings, type Theme } from "../maps/palette.js";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Pixels that are enlarged without smoothing. What is transparent shows the hatching below. */
export interface Raster extends Box {
  readonly kind: "raster";
  readonly pixels: ImageData;
}

/** A rectangle of a colour, or hatched where it has none. */
export interface Patch extends Box {
  readonly kind: "patch";
  readonly fill: string | undefined;
}

/** One line of words. (x, y) is its beginning in the middle of its height, around which it is turned by degrees. */
export interface Words {
  readonly kind: "words";
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly turn: number;
  readonly size: number;
  readonly weight: string;
  readonly isMono: boolean;
  readonly fill: string;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly theme: Theme;
  readonly title: string;
  readonly shapes: readonly (Raster | Patch | Words)[];
}

/** The fonts of words, as the style sheet has them. */
export const kFonts = {
  mono: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
  plain: "system-ui, sans-serif",
};

/** These are for the hand only, or not seen by a reader. */
const kLeftOut =
  ".unseen, .room, .bar button, .hint, .choices, .export, .minimap, .across, .down, .cell, .pointer, .coarse, progress, [part=understood]";

function pixelsOf(canvas: HTMLCanvasElement): ImageData | undefined {
  if (canvas.width === 0 || canvas.height === 0) return undefined;
  return canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height);
}

/** The degrees by which an element is turned. */
function turnOf(style: CSSStyleDeclaration): number {
  const [, a = "1", b = "0"] = /^matrix\(([^,]+),([^,]+)/.exec(style.transform) ?? [];
  return Math.round((Math.atan2(Number(b), Number(a)) * 180) / Math.PI);
}

/** True for a character that takes no space. */
function isBlank(text: Text, at: number): boolean {
  const range = document.createRange();
  range.setStart(text, at);
  range.setEnd(text, Math.min(at + 1, text.length));
  return range.getBoundingClientRect().width === 0;
}

/** The place of what the style sheet draws before the text of an element. */
function beside(element: Element): DOMRect {
  const { left, right, top, width, height } = element.getBoundingClientRect();
  if (element.textContent === "") return new DOMRect(left, top, width, height);
  const range = document.createRange();
  range.selectNodeContents(element);
  const text = range.getBoundingClientRect();
  // In words from right to left it is on the right.
  return text.left - left > right - text.right
    ? new DOMRect(left, top, text.left - left, height)
    : new DOMRect(text.right, top, right - text.right, height);
}

class Scene {
  readonly shapes: (Raster | Patch | Words)[] = [];
  readonly #origin: DOMRect;

  constructor(root: Element) {
    this.#origin = root.getBoundingClientRect();
    this.#add(root);
  }

  #box({ left, top, width, height }: DOMRect): Box {
    return { x: left - this.#origin.left, y: top - this.#origin.top, width, height };
  }

  #add(element: Element): void {
    if (element.matches(kLeftOut)) return;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden") return;
    if (element instanceof HTMLCanvasElement) return this.#addCanvas(element);
    this.#addGround(element, style);
    const turn = turnOf(style);
    if (turn !== 0 && element instanceof HTMLElement) return this.#addTurned(element, style, turn);
    for (const child of element.childNodes) {
      if (child instanceof Element) this.#add(child);
      else if (child instanceof Text) this.#addText(child, style);
    }
    const mark = element instanceof HTMLElement ? element.dataset.mark : undefined; // drawn by the style sheet
    if (mark !== undefined) this.#addWords(mark, this.#box(beside(element)), style);
  }

  #addCanvas(canvas: HTMLCanvasElement): void {
    const pixels = pixelsOf(canvas);
    if (pixels) this.shapes.push({ kind: "raster", pixels, ...this.#box(canvas.getBoundingClientRect()) });
  }

  #addGround(element: Element, { backgroundColor, backgroundImage }: CSSStyleDeclaration): void {
    const isHatched = backgroundImage.startsWith("linear-gradient");
    const isClear = /^rgba\(.*, 0\)$|^transparent$/.test(backgroundColor);
    if (isHatched || !isClear)
      this.shapes.push({ kind: "patch", fill: isHatched ? undefined : backgroundColor, ...this.#box(element.getBoundingClientRect()) });
  }

  /** Words that wrap become one shape for each line. */
  #addText(text: Text, style: CSSStyleDeclaration): void {
    const range = document.createRange();
    let [begin, top] = [0, NaN];
    const finish = (end: number): void => {
      range.setStart(text, begin);
      range.setEnd(text, end);
      const words = text.data.slice(begin, end);
      // Space at the beginning of a line, as between tags, has no width.
      const shown = isBlank(text, begin) ? words.trimStart() : words;
      if (words.trim() !== "") this.#addWords(shown, this.#box(range.getBoundingClientRect()), style);
    };
    for (let at = 0; at < text.length; at++) {
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const rect = range.getClientRects()[0];
      if (!rect || Math.abs(rect.top - top) < rect.height / 2) continue;
      if (!Number.isNaN(top)) {
        finish(at);
        begin = at;
      }
      ({ top } = rect);
    }
    finish(text.length);
  }

  #addWords(text: string, { x, y, width, height }: Box, style: CSSStyleDeclaration, turn = 0): void {
    if (width < 1 && turn === 0) return;
    this.shapes.push({
      kind: "words",
      text: style.whiteSpace.startsWith("pre") ? text : text.replace(/\s+/g, " "),
      x,
      y: y + height / 2,
      width,
      turn,
      size: parseFloat(style.fontSize),
      weight: style.fontWeight,
      isMono: style.fontFamily.includes("mono"),
      fill: style.color,
    });
  }

  /** An element that is turned around the beginning of its line, as the names of columns are. */
  #addTurned(element: HTMLElement, style: CSSStyleDeclaration, turn: number): void {
    const { left, top } = (element.offsetParent ?? element).getBoundingClientRect();
    const [x, y] = [left - this.#origin.left + element.offsetLeft, top - this.#origin.top + element.offsetTop];
    const text = [...element.querySelectorAll("[data-mark]"), element].map((part) =>
      (part as HTMLElement).dataset.mark ?? part.textContent).join("");
    this.#addWords(text, { x, y, width: element.offsetWidth, height: element.offsetHeight }, style, turn);
  }
}

/** The space around a drawing. */
const kMargin = 8;

/** The box of a shape; for words that are turned, one that they do not leave. */
function boxOf(shape: Raster | Patch | Words): Box {
  if (shape.kind !== "words") return shape;
  const { x, y, width, turn, size } = shape;
  const angle = (turn * Math.PI) / 180;
  const [across, down] = [width * Math.cos(angle), width * Math.sin(angle)];
  return {
    x: Math.min(x, x + across) - (turn === 0 ? 0 : size / 2),
    y: Math.min(y, y + down) - size / 2,
    width: Math.abs(across) + (turn === 0 ? 0 : size),
    height: Math.abs(down) + size,
  };
}

/** Draws what is seen of an element, whose content is in `root`, without empty space around it. */
export function drawingOf(root: Element, theme: Theme, title: string): Drawing {
  const { shapes } = new Scene(root);
  const boxes = shapes.map(boxOf);
  const least = (of: (box: Box) => number): number => boxes.reduce((least, box) => Math.min(least, of(box)), Infinity);
  const [left, top] = [least(({ x }) => x) - kMargin, least(({ y }) => y) - kMargin];
  const width = -least(({ x, width }) => -x - width) + kMargin - left;
  const height = -least(({ y, height }) => -y - height) + kMargin - top;
  const ground = { kind: "patch", fill: kSurroundings[theme].paper, x: 0, y: 0, width, height } as const;
  const moved = shapes.map((shape) => ({ ...shape, x: shape.x - left, y: shape.y - top }));
  return { width, height, theme, title, shapes: [ground, ...moved] };
}
