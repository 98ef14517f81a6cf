// SPDX-License-Identifier: Apache-2.0
/** A picture as its model sees it: stretched to a square, or the square that the model's preprocessor cuts out. */
import type { ModelInfo } from "headlens";
import { givenFiles } from "../maps/engine.js";
import { pictureAt } from "../maps/pictures.js";
import type { Run } from "../maps/run.js";

/** The most pixels a side that are shown. */
const kMostSide = 768;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** A side of pixels, which is a number or an object with equal sides. */
function sideOf(value: unknown): number | undefined {
  const side = fieldOf(value, "height") ?? fieldOf(value, "shortest_edge") ?? value;
  return typeof side === "number" && side > 0 ? side : undefined;
}

/** The part of a picture that a preprocessor keeps. It has checked its settings before, since the model has run. */
export function keptBox(settings: unknown, width: number, height: number, modelSize: number): Box {
  const isResized = fieldOf(settings, "do_resize") !== false;
  const size = sideOf(fieldOf(settings, "size")) ?? modelSize;
  const crop = fieldOf(settings, "do_center_crop") === true ? sideOf(fieldOf(settings, "crop_size")) : undefined;
  const isShortest = fieldOf(fieldOf(settings, "size"), "shortest_edge") !== undefined;
  const shorter = Math.min(width, height);
  const scale = (side: number): number => (!isResized ? 1 : isShortest ? size / shorter : size / side);
  const [resizedWidth, resizedHeight] = [width * scale(width), height * scale(height)];
  const kept = (resized: number): number => Math.min(crop ?? resized, resized);
  const [across, down] = [kept(resizedWidth) / scale(width), kept(resizedHeight) / scale(height)];
  return { x: (width - across) / 2, y: (height - down) / 2, width: across, height: down };
}

/** Reads from a model's folder how its pictures are prepared; undefined where it says nothing, as for built-in models. */
async function settingsOf(model: string, { url }: ModelInfo, signal: AbortSignal): Promise<unknown> {
  const name = "preprocessor_config.json";
  const file = givenFiles(model)?.find((one) => one.name === name);
  if (file) return JSON.parse(await file.text()) as unknown;
  if (url === undefined) return undefined;
  const response = await fetch(new URL(name, url), { signal });
  return response.ok ? ((await response.json()) as unknown) : undefined;
}

/** A picture as its model sees it, and a sentence that says what became of it. */
export interface SeenPicture {
  readonly canvas: HTMLCanvasElement;
  readonly words: string;
}

/** The picture of a run on a canvas of its own. */
export async function seenPicture({ reading, info }: Run, signal: AbortSignal): Promise<SeenPicture> {
  const [picture, settings] = await Promise.all([
    pictureAt(reading.image),
    settingsOf(reading.model, info, signal),
  ]);
  signal.throwIfAborted();
  const { width, height } = picture;
  const whole = Object.assign(document.createElement("canvas"), { width, height });
  const pixels = new ImageData(width, height);
  pixels.data.set(picture.data);
  whole.getContext("2d")?.putImageData(pixels, 0, 0);
  const box = keptBox(settings, width, height, info.image?.size ?? Math.min(width, height));
  const side = Math.round(Math.min(Math.max(box.width, box.height), kMostSide));
  const square = Object.assign(document.createElement("canvas"), { width: side, height: side });
  square.getContext("2d")?.drawImage(whole, box.x, box.y, box.width, box.height, 0, 0, side, side);
  const size = info.image?.size ?? side;
  const isCut = box.width < width - 0.5 || box.height < height - 0.5;
  const isStretched = Math.abs(box.width - box.height) > 0.5;
  const how = [...(isCut ? ["its middle is cut out"] : []), ...(isStretched ? ["it is stretched to a square"] : [])];
  const words = `The model sees ${size} × ${size} pixels${how.length > 0 ? `: ${how.join(", and ")}` : ""}.`;
  return { canvas: square, words };
}
