// SPDX-License-Identifier: Apache-2.0
import type { Image } from "headlens";
import { noChange } from "lit";
import { Directive, PartType, directive } from "lit/directive.js";
import type { ElementPart, PartInfo } from "lit/directive.js";

class Draw extends Directive {
  #drawn?: Image;

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("draw() belongs on a canvas element");
  }

  override update(part: ElementPart, [image]: [Image | undefined]): unknown {
    if (image && image !== this.#drawn && part.element instanceof HTMLCanvasElement) paint(part.element, image);
    this.#drawn = image;
    return noChange;
  }

  render(_image: Image | undefined): unknown {
    return noChange;
  }
}

function paint(canvas: HTMLCanvasElement, { data, width, height }: Image): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  canvas.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(data), width, height), 0, 0);
}

/** `<canvas ${draw(image)}>` paints one pixel per cell, and only when the image is a different one. */
export const draw = directive(Draw);
