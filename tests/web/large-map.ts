// SPDX-License-Identifier: Apache-2.0
/** A map of a million cells in an element, whose pixels and whose values under the pointer are held against its numbers. */
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { paletteOf } from "../../web/maps/palette.js";
import { holds } from "./browser.js";

const kSize = 1000;

const valueAt = (row: number, col: number): number => (((row * kSize + col) * 2654435761) % 1000) / 1000;

const kSamples = 400;

/** The part of the map that is seen, and some pixels of it. The labels say where it begins, and how large a cell is. */
interface Seen {
  cell: number;
  row: number;
  col: number;
  /** The places of the pixels, and their RGB: browsers take seconds to hand over all pixels as numbers. */
  pixels: { x: number; y: number; color: number[] }[];
  /** The corner of the canvas in the page. */
  left: number;
  top: number;
}

const seenPart = (page: Page): Promise<Seen> => page.evaluate((samples) => {
  const shadow = document.querySelector("attention-map")?.shadowRoot;
  const canvas = shadow?.querySelector<HTMLCanvasElement>(".cells > canvas") as HTMLCanvasElement;
  const axis = (name: string): { cell: number; begin: number } => {
    const labels = [...shadow?.querySelectorAll<HTMLElement>(`.${name} .label:not(.chosen)`) ?? []];
    const at = labels.map((label) => [Number(label.textContent), parseFloat(label.style.getPropertyValue("--at"))]);
    const [first = [0, 0], last = [0, 0]] = [at[0], at.at(-1)];
    const side = ((last[1] ?? 0) - (first[1] ?? 0)) / ((last[0] ?? 0) - (first[0] ?? 0));
    return { cell: side, begin: (first[0] ?? 0) + 0.5 - (first[1] ?? 0) / side };
  };
  const { cell, begin: row } = axis("rows");
  const { begin: col } = axis("cols");
  const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
  const pixels = Array.from({ length: samples }, (_, sample) => {
    const [x, y] = [(sample * 7919) % canvas.width, (sample * 104729) % canvas.height];
    const at = (y * canvas.width + x) * 4;
    return { x, y, color: Array.from(data.slice(at, at + 3)) };
  });
  const { left, top } = canvas.getBoundingClientRect();
  return { cell, row, col, pixels, left, top };
}, kSamples);

/** The place between two blocks, whose edges are rounded to pixels, by its distance in pixels. */
const edge = (at: number, block: number, cell: number): number =>
  Math.abs(at / block - Math.round(at / block)) * block * cell;

/** `allowed` is how far a browser's colours may be from the palette's. */
function expectPixels({ cell, row: firstRow, col: firstCol, pixels }: Seen, theme: "light" | "dark", allowed: number): void {
  const block = Math.max(1, 2 ** Math.ceil(Math.log2(1 / cell) - 1e-9));
  const bar = [...paletteOf("sequential", theme).bytes];
  let compared = 0;
  for (const { x, y, color } of pixels) {
    const [row, col] = [firstRow + (y + 0.5) / cell, firstCol + (x + 0.5) / cell];
    if (edge(row, block, cell) < 0.75 || edge(col, block, cell) < 0.75) continue;
    let most = 0;
    const [top, left] = [Math.floor(row / block) * block, Math.floor(col / block) * block];
    for (let i = top; i < Math.min(top + block, kSize); i++)
      for (let j = left; j < Math.min(left + block, kSize); j++) most = Math.max(most, valueAt(i, j));
    const step = Math.round(255 * Math.sqrt(Math.fround(most)));
    expect(color).toHaveLength(3);
    compared++;
    const off = Math.max(...color.map((byte, index) => Math.abs(byte - (bar[step * 4 + index] ?? NaN))));
    expect(off, `${theme}, row ${row}, column ${col}`).toBeLessThanOrEqual(allowed);
  }
  expect(compared, `pixels of ${kSamples} that lie within a block, at ${cell} pixels a cell`).toBeGreaterThan(kSamples / 100);
}

async function expectHover(page: Page, { cell, row, col, left, top }: Seen): Promise<void> {
  const [x, y] = [137, 251];
  await page.mouse.move(left + x, top + y);
  await holds(page, () => {
    const readout = document.querySelector("attention-map")?.shadowRoot?.querySelector(".readout b")?.textContent;
    return readout !== undefined && readout !== "…";
  }, 10);
  const words = await page.evaluate(() =>
    document.querySelector("attention-map")?.shadowRoot?.querySelector(".readout")?.textContent ?? "");
  const value = valueAt(Math.floor(row + y / cell), Math.floor(col + x / cell));
  expect(words).toContain(value !== 0 && value < 1e-3 ? value.toExponential(3) : value.toFixed(4));
}

/**
 * Sets a map of a million cells in the page's element, and looks at it from near: when all of it is seen, its blocks are
 * hardly larger than a pixel.
 */
export async function expectLargeMap(page: Page, allowed = 0): Promise<void> {
  await page.evaluate(async (length) => {
    const data = Float32Array.from({ length: length * length }, (_, index) => ((index * 2654435761) % 1000) / 1000);
    const element = document.querySelector("attention-map");
    const drawn = new Promise((resolve) => element?.addEventListener("attention-draw", resolve, { once: true }));
    Object.assign(element ?? {}, { weights: { data, shape: [length, length] } });
    await drawn;
  }, kSize);
  for (const [theme, zooms] of [["light", 4], ["dark", 2]] as const) {
    await page.evaluate((wanted) => {
      const element = document.querySelector("attention-map");
      element?.setAttribute("theme", wanted);
      element?.shadowRoot?.querySelector<HTMLElement>(".plot")?.focus();
    }, theme);
    for (let zoom = 0; zoom < zooms; zoom++) await page.keyboard.press("+");
    await holds(page, () => !document.querySelector("attention-map")?.shadowRoot?.querySelector(".coarse"));
    await page.evaluate(() => document.querySelector("attention-map")?.updateComplete.then(() => undefined));
    const seen = await seenPart(page);
    expectPixels(seen, theme, allowed);
    await expectHover(page, seen);
  }
}
