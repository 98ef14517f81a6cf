// SPDX-License-Identifier: Apache-2.0
/** The view of a picture: weights over patches are the engine's, and patches are pinned by a click and by keys. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const image = "/dist/models/tiny-vit/examples/00.png";
const kPicture = { view: "picture", model: "tiny-vit", image, layer: 1, head: 2, controls: "full" } as const;

test("a patch's weights lie over the picture, and are pinned and read with pointer and keys", async () => {
  const page = await views.open([kPicture]);
  const data = await views.ofPicture(page, image, 1, 2);
  const row = (token: number): number[] => [...data.subarray(token * 65, token * 65 + 65)];
  const strongest = (weights: number[]): string[] =>
    weights.sort((a, b) => b - a).slice(0, 10).map((weight) => weight.toFixed(2));
  const shown = (): Promise<string[]> => texts(page, "#map >>> .pic-table td");
  expect(await shown(), "CLS is shown first").toEqual(strongest(row(0)));
  const plot = await seen(page, "#map >>> .pic-plot");
  const box = (await plot.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const at = (y: number, x: number): [number, number] =>
    [box.x + ((x + 0.5) / 8) * box.width, box.y + ((y + 0.5) / 8) * box.height];
  await page.mouse.click(...at(3, 5));
  expect(await stateOf(page, "query")).toBe("30");
  await page.mouse.move(...at(3, 4));
  await page.waitForFunction(() => (document.querySelector("#map") as AttentionMap).shadowRoot
    ?.querySelector(".pic-readout")?.textContent.includes("column 4"));
  expect(await shown()).toEqual(strongest(row(30)));
  expect(await texts(page, "#map >>> .pic-readout")).toEqual([
    `row 3, column 5 → row 3, column 4: ${(row(30)[29] ?? NaN).toFixed(4)}`,
  ]);
  await plot.focus();
  await page.keyboard.press("Escape");
  expect(await stateOf(page, "query")).toBe("");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"] as const) await page.keyboard.press(key);
  expect(await stateOf(page, "query"), "the first key enters the first patch").toBe("10");
  await (await seen(page, "#map >>> .pic-head:last-child")).click();
  expect(await stateOf(page, "head")).toBe(5);
  expect(await axe(page)).toEqual([]);
  await shoot(page, "picture");
  // Weights are blue, and so is much of this picture: what is laid over has to be the strongest colour there.
  const strengths = await page.$eval("#map >>> .pic-plot canvas", (below) => {
    const { data } = (below.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, 48, 48);
    return Array.from({ length: data.length / 4 }, (_, pixel) => {
      const channels = [...data.subarray(4 * pixel, 4 * pixel + 3)];
      return Math.max(...channels) - Math.min(...channels);
    });
  });
  expect(Math.max(...strengths)).toBeGreaterThan(0);
  expect(Math.max(...strengths)).toBeLessThan(64);
  await page.$eval("#map", (element) => Object.assign(element, { theme: "dark" }));
  expect(await axe(page)).toEqual([]);
});

/** A file as a page drops, pastes or chooses it: a picture of this size that the browser encodes, or these bytes. */
interface Given {
  readonly name: string;
  readonly size?: readonly [number, number];
  readonly bytes?: readonly number[];
}

/** Drops or pastes a file where the selector says, as a reader does. */
async function give(page: Page, selector: string, kind: "drop" | "paste", given: Given): Promise<void> {
  await page.$eval("#map", async (element, selector, kind, { name, size, bytes }) => {
    const painted = async ([width, height]: readonly [number, number]): Promise<Blob> => {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext("2d");
      for (let x = 0; context && x < width; x += 8) {
        context.fillStyle = `hsl(${x} 80% ${(x / width) * 100}%)`;
        context.fillRect(x, 0, 8, height);
      }
      return canvas.convertToBlob();
    };
    const data = new DataTransfer();
    data.items.add(new File([size ? await painted(size) : Uint8Array.from(bytes ?? [])], name, { type: "image/png" }));
    const target = element.shadowRoot?.querySelector(selector);
    const options = { bubbles: true, composed: true, cancelable: true } as const;
    target?.dispatchEvent(kind === "drop"
      ? new DragEvent("drop", { ...options, dataTransfer: data }) : new ClipboardEvent("paste", { ...options, clipboardData: data }));
  }, selector, kind, given);
}

const pngHead = (width: number, height: number): number[] => {
  const size = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >> shift) & 255);
  return [137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, ...size(width), ...size(height), 8, 6, 0, 0, 0];
};

/** A page with elements that have nothing to draw yet. */
async function waiting(properties: object): Promise<Page> {
  const page = await views.open([{ view: "grid", text: kSentence }]);
  await page.evaluate((given) => {
    const element = Object.assign(document.createElement("attention-map"), given, { id: "map" });
    document.querySelector("#map")?.replaceWith(element);
  }, properties);
  return page;
}

test("without a picture there is a place to give one, which says what is no picture", async () => {
  for (const properties of [{ view: "map", model: "tiny-vit" }, { view: "picture", model: "tiny-vit", text: "no picture" }]) {
    const page = await waiting(properties);
    await seen(page, "#map >>> .place");
    expect(await axe(page)).toEqual([]);
    const said = async (words: RegExp): Promise<void> => {
      await seen(page, "#map >>> .place [role=status]:not(:empty)");
      await page.waitForFunction((source) => new RegExp(source).test(
        document.querySelector("#map")?.shadowRoot?.querySelector(".place [role=status]")?.textContent ?? ""), {}, words.source);
    };
    await give(page, ".place", "drop", { name: "notes.txt", bytes: [104, 105] });
    await said(/^image: notes\.txt is no picture that this browser can read, or is broken$/);
    await give(page, ".place", "drop", { name: "cut.png", bytes: pngHead(8, 8) });
    await said(/^image: cut\.png is no picture/);
    await give(page, ".place", "drop", { name: "bomb.png", bytes: pngHead(60_000, 60_000) });
    await said(/^image: bomb\.png has 60000 × 60000 pixels, expected at most 64 Mi of them$/);
    await shoot(page, "picture-place");
    await page.focus("#map >>> .place input");
    expect(await page.$eval("#map", ({ shadowRoot }) => shadowRoot?.activeElement?.matches("input[type=file]"))).toBe(true);
    await give(page, ".place", "paste", { name: "photo.png", size: [640, 400] });
    await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".place"));
    expect(await stateOf(page, "image")).toMatch(/^given:picture-/);
    await page.$eval("#map", (element) => (element as AttentionMap).ready());
  }
});

test("a photograph is seen as the model sees it, and several patches are averaged in both directions", async () => {
  const page = await views.open([kPicture]);
  await give(page, ".pic-plot", "drop", { name: "photo.png", size: [2600, 1300] });
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.textContent?.includes("stretched"));
  expect(await texts(page, "#map >>> .pic-left > p")).toContain("The model sees 48 × 48 pixels: it is stretched to a square.");
  await give(page, ".pic-plot", "drop", { name: "notes.txt", bytes: [104, 105] });
  await seen(page, "#map >>> .pic-left ::-p-text(notes.txt is no picture)");
  await change(page, { image });
  const plot = await seen(page, "#map >>> .pic-plot");
  const box = (await plot.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const click = (y: number, x: number): Promise<void> =>
    page.mouse.click(box.x + ((x + 0.5) / 8) * box.width, box.y + ((y + 0.5) / 8) * box.height);
  const pinTwo = async (): Promise<void> => {
    await click(0, 0);
    await page.keyboard.down("Shift");
    await click(3, 5);
    await page.keyboard.up("Shift");
    await page.mouse.move(0, 0);
    await page.$eval("#map", (element) => (element as AttentionMap).ready());
    await seen(page, "#map >>> .pic-mean ::-p-text(mean over the 2 pinned tokens)");
  };
  await pinTwo();
  expect(await stateOf(page, "query")).toBe("1 30");
  const chips = async (): Promise<number> => Number((await texts(page, "#map >>> .pic-chip"))[0]?.split(" ").at(-1));
  const json = await page.$eval("#map", (element) => (element as AttentionMap).toJSON());
  const map = (JSON.parse(json) as { weights: number[][][][] }).weights.flat(3);
  const at = (row: number, col: number): number => map[row * 65 + col] ?? NaN;
  expect(Math.abs((await chips()) - (at(1, 0) + at(30, 0)) / 2)).toBeLessThan(0.006);
  await page.$eval("#map", (element) => void Object.assign(element, { query: "" }));
  await page.click("#map >>> .segments label:nth-child(2)");
  await pinTwo();
  expect(await stateOf(page, "key")).toBe("1 30");
  expect(Math.abs((await chips()) - (at(0, 1) + at(0, 30)) / 2)).toBeLessThan(0.006);
  await shoot(page, "picture-mean");
  expect(await axe(page)).toEqual([]);
});

test("it fits a phone, and a model of texts has a sentence", async () => {
  const page = await views.open([kPicture], phone);
  await shoot(page, "picture-phone");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await change(page, { model: "tiny", text: kSentence, image: "" });
  expect((await texts(page, "#map >>> .pic-none"))[0]).toMatch(/reads text/);
});
