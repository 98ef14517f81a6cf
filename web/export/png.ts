// SPDX-License-Identifier: Apache-2.0
/** A drawing as a picture of pixels. */
import { type Box, type Drawing, kFonts, type Raster, type Words } from "./drawing.js";
import { kSurroundings } from "../maps/palette.js";

/** Browsers refuse canvases with more pixels than this, or return empty ones. */
const kMostPixels = 2 ** 26;
const kMostSide = 16384;
const kHatch = 6;

function hatch(context: CanvasRenderingContext2D, { x, y, width, height }: Box, stripe: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = stripe;
  context.beginPath();
  for (let at = -height; at < width; at += kHatch) {
    context.moveTo(x + at, y);
    context.lineTo(x + at + height, y + height);
  }
  context.stroke();
  context.restore();
}

function drawRaster(context: CanvasRenderingContext2D, { x, y, width, height, pixels }: Raster): void {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [pixels.width, pixels.height];
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(canvas, x, y, width, height);
}

function drawWords(context: CanvasRenderingContext2D, { x, y, text, turn, size, weight, isMono, fill }: Words): void {
  context.save();
  context.translate(x, y);
  context.rotate((turn * Math.PI) / 180);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = `${weight} ${size}px ${isMono ? kFonts.mono : kFonts.plain}`;
  context.fillStyle = fill;
  context.fillText(text, 0, 0);
  context.restore();
}

function drawShape(context: CanvasRenderingContext2D, shape: Drawing["shapes"][number], stripe: string): void {
  if (shape.kind === "raster") return drawRaster(context, shape);
  if (shape.kind === "words") return drawWords(context, shape);
  if (shape.fill === undefined) return hatch(context, shape, stripe);
  context.fillStyle = shape.fill;
  context.fillRect(shape.x, shape.y, shape.width, shape.height);
}

/** Draws with `scale` pixels for each CSS pixel. Throws when the picture would be larger than browsers make them. */
export async function pngOf({ width, height, theme, shapes }: Drawing, scale: number): Promise<Blob> {
  if (!(scale >= 1 && scale <= 4)) throw new Error(`scale is ${scale}, expected a number from 1 to 4`);
  const canvas = document.createElement("canvas");
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (across > kMostSide || down > kMostSide || across * down > kMostPixels)
    throw new Error(`the picture would have ${across} × ${down} pixels: choose a smaller scale`);
  [canvas.width, canvas.height] = [across, down];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no picture");
  context.scale(scale, scale);
  for (const shape of shapes) drawShape(context, shape, kSurroundings[theme].stripe);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser makes no PNG"))), "image/png"));
}
