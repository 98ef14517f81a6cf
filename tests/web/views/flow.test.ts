// SPDX-License-Identifier: Apache-2.0
/** Rollout and flow: the numbers of the engine in Node, and what a reader does with them. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kNumbers = "#map >>> .flow .tokens-number";

/** The weights of all layers of `tiny` for the sentence. */
function weights(): { data: Float32Array; shape: number[] }[] {
  using attention = views.tiny.attend(kSentence);
  const count = attention.tokens.length;
  return [0, 1, 2, 3].map((layer) => {
    const data = new Float32Array(8 * count * count);
    for (let head = 0; head < 8; head++) data.set(attention.map(layer, head).data, head * count * count);
    return { data, shape: [8, count, count] };
  });
}

interface Rows {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

/** Waits until the page shows one row of `data`, rounded, since new numbers take the place of those before. */
async function expectRow(page: Page, { data, shape: [count = 0] }: Rows, token: number): Promise<void> {
  const row = Array.from(data).slice(token * count, (token + 1) * count);
  const wrong = (value: number, index: number): boolean => !(Math.abs(value - (row[index] ?? NaN)) < 6e-4);
  const compare = async (): Promise<object> => {
    const shown = (await texts(page, kNumbers)).map(Number);
    return { count: shown.length, wrong: shown.filter(wrong) };
  };
  await expect.poll(compare, { timeout: 10_000 }).toEqual({ count, wrong: [] });
}

test("the shares are the engine's rollout, of the last token or the pinned one, to each depth", async () => {
  const page = await views.open([{ view: "flow", text: kSentence }]);
  const all = weights();
  await expectRow(page, views.engine.rollout(all), 9);
  await shoot(page, "flow-desktop");
  expect(await axe(page)).toEqual([]);
  await page.click("#map >>> .flow .tokens-one:nth-child(7)");
  expect(await stateOf(page, "query")).toBe("6");
  await seen(page, "#map >>> .flow-title ::-p-text(‘\u2068and\u2069’ gets most)");
  await expectRow(page, views.engine.rollout(all), 6);
  await page.focus("#map >>> .flow-depth input");
  await page.keyboard.press("Home");
  await seen(page, "#map >>> .flow-depth ::-p-text(after layer 0)");
  await expectRow(page, views.engine.rollout(all.slice(0, 1)), 6);
});

test("flow and other options are the engine's, and a token of a layer is read with the keys", async () => {
  const page = await views.open([{ view: "flow", text: kSentence, theme: "dark" }], phone);
  const all = weights();
  await page.select("#map >>> .flow-controls label:nth-child(2) select", "max");
  await page.select("#map >>> .flow-controls label:nth-child(4) select", "1");
  await expectRow(page, views.engine.rollout(all, { fusion: "max", startLayer: 1 }), 9);
  await page.select("#map >>> .flow-controls label:nth-child(2) select", "mean");
  await page.select("#map >>> .flow-controls label:nth-child(4) select", "0");
  await page.$$eval("#map >>> .flow-controls input[type=radio]", (radios) => (radios[1] as HTMLElement).click());
  await seen(page, "#map >>> .flow-title ::-p-text(By flow)");
  await expectRow(page, views.engine.flow(all), 9);
  expect(await axe(page)).toEqual([]);
  await page.focus("#map >>> .flow-plot");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowLeft");
  expect((await texts(page, "#map >>> .flow-readout"))[0]).toMatch(/after layer 2: 0\.\d{4} of/);
  await page.keyboard.press("Enter");
  expect(await stateOf(page, "query")).toBe("8");
  await shoot(page, "flow-phone");
});

test("norms are a third method, and what has no rollout says so", async () => {
  const page = await views.open([{ view: "flow", text: kSentence }]);
  await page.$$eval("#map >>> .flow-controls input[type=radio]", (radios) => (radios[2] as HTMLElement).click());
  await seen(page, "#map >>> .flow-title ::-p-text(rollout of norms)");
  using attention = views.tiny.attend(kSentence, { keepValues: true });
  const layers = weights().map((of, layer) => {
    const { state } = views.tiny.layerWeights(layer);
    const { data, shape } = views.engine.layerNorms(of, attention.values(layer), state["out_proj.weight"], { isCausal: true });
    const count = shape[1] ?? 0;
    const sums = Array.from({ length: count }, (_, row) =>
      data.slice(row * count, (row + 1) * count).reduce((sum, value) => sum + value, 0));
    const share = (value: number, cell: number): number => value / (sums[Math.floor(cell / count)] ?? NaN);
    return { data: Float32Array.from(data, share), shape: [1, count, count] };
  });
  await expectRow(page, views.engine.rollout(layers), 9);
  const cross = await views.open([{ view: "flow", model: "tiny-translator", source: "The cat sleeps.", text: "Le chat dort.", attention: "cross" }]);
  expect((await texts(cross, "#map >>> .flow-none"))[0]).toMatch(/^Cross-attention leads/);
});
