// SPDX-License-Identifier: Apache-2.0
/** The view of a picture: weights over patches are the engine's, and patches are pinned by a click and by keys. */
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const image = "/dist/models/tiny-vit/examples/00.png";
const kPicture = { view: "picture", model: "tiny-vit", image, layer: 1, head: 2, controls: "full" } as const;

test("a patch's weights lie over the picture, and are pinned and read with pointer and keys", async () => {
  const page = await views.open([kPicture]);
  const pixels = await page.evaluate(async (address) => {
    const bitmap = await createImageBitmap(await (await fetch(address)).blob());
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    return [...(context?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [])];
  }, image);
  const model = await views.engine.loadModel("tiny-vit");
  const side = Math.sqrt(pixels.length / 4);
  const { data } = model.attend({ width: side, height: side, data: Uint8ClampedArray.from(pixels) }).map(1, 2);
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
  await page.$eval("#map", (element) => Object.assign(element, { theme: "dark" }));
  expect(await axe(page)).toEqual([]);
});

test("it fits a phone, and a model of texts has a sentence", async () => {
  const page = await views.open([kPicture], phone);
  await shoot(page, "picture-phone");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await change(page, { model: "tiny", text: kSentence, image: "" });
  expect((await texts(page, "#map >>> .pic-none"))[0]).toMatch(/reads text/);
});
