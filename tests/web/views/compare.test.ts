// SPDX-License-Identifier: Apache-2.0
/** The comparison of two texts: differences are the engine's, and its keys, fields and heads do what they say. */
import type { SourceAndTarget } from "headlens";
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kOther = kSentence.replace("queen", "king");
const kCompare = { view: "compare", text: kSentence, compareText: kOther, layer: 3, head: 4, query: "6", controls: "full" } as const;
const number = (text: string): number => Number(text.replace("−", "-"));

test("two texts are aligned, and what differs is what the engine says", async () => {
  const page = await views.open([kCompare]);
  const difference = views.engine.difference(views.tiny.attend(kSentence), views.tiny.attend(kOther));
  const { data, shape: [, width = 0] } = difference.map(3, 4);
  const row = difference.pairs.findIndex(([a]) => a === 6);
  const cells = (await texts(page, "#map >>> .cmp-table td")).map(number);
  expect(cells).toHaveLength(3 * width);
  for (let col = 0; col < width; col++) {
    const [a = NaN, b = NaN, less = NaN] = cells.slice(3 * col, 3 * col + 3);
    expect(Math.abs(less - (data[row * width + col] ?? NaN))).toBeLessThan(2e-4);
    expect(Math.abs(b - a - less)).toBeLessThan(2e-4);
  }
  const kl = (await texts(page, "#map >>> .cmp-kl small")).map(number);
  const exact = [...difference.divergences().data];
  exact.forEach((value, pair) => expect(Math.abs(value - (kl[pair] ?? NaN))).toBeLessThan(1e-3));
  expect(await texts(page, "#map >>> .cmp-strip del")).toHaveLength(2);
  difference.dispose();
  await seen(page, "#map >>> .cmp-heads button");
  expect(await texts(page, "#map >>> .cmp-heads button")).toHaveLength(8);
  await page.focus("#map >>> .cmp-plot");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  expect(await stateOf(page, "query")).toBe("7");
  await (await seen(page, "#map >>> .cmp-kl li:last-child button")).click();
  expect(await stateOf(page, "query")).toBe("9");
  expect(await axe(page)).toEqual([]);
  await shoot(page, "compare");
  await page.$eval("#map", (element) => Object.assign(element, { theme: "dark" }));
  expect(await axe(page)).toEqual([]);
  await change(page, { compareText: "", compareHead: "1.2" });
  expect(await texts(page, "#map >>> .cmp-heads")).toEqual([]);
  await change(page, { compareHead: "", ablate: "0.5" });
  expect(await texts(page, "#map >>> .cmp-field")).toEqual([]);
});

test("a translator's attentions are compared with those of another text, and another head's", async () => {
  const model = await views.engine.loadModel("tiny-translator");
  const [source, target] = ["The cat sees the dog.", "Le chat voit le chien."];
  const other = "Le chat voit la fille.";
  const page = await views.open([{ view: "compare", model: "tiny-translator", source, text: target, compareText: other, attention: "cross", layer: 1, head: 2, query: "3", controls: "full" }]);
  const expectRow = async (input: SourceAndTarget, attention: "cross" | "encoder", query: number): Promise<void> => {
    using a = model.attend({ source, target });
    using b = model.attend(input);
    using difference = views.engine.difference(a, b);
    const { data, shape: [, width = 0] } = difference.map(1, 2, { attention });
    const { sourcePairs = [], pairs } = difference;
    const row = (attention === "encoder" ? sourcePairs : pairs).findIndex(([of]) => of === query);
    const cells = (await texts(page, "#map >>> .cmp-table td")).map(number);
    expect(cells).toHaveLength(3 * width);
    expect(width).toBe(sourcePairs.length);
    for (let col = 0; col < width; col++) {
      const [inA = NaN, inB = NaN, less = NaN] = cells.slice(3 * col, 3 * col + 3);
      expect(Math.abs(less - (data[row * width + col] ?? NaN))).toBeLessThan(2e-4);
      expect(Math.abs(inB - inA - less)).toBeLessThan(2e-4);
    }
  };
  await expectRow({ source, target: other }, "cross", 3);
  expect(await texts(page, "#map >>> .cmp-strip b")).toEqual(["A", "B", "A and B, source"]);
  await seen(page, "#map >>> .cmp-heads button");
  await page.focus("#map >>> .cmp-plot");
  for (let time = 0; time < 20; time++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  using ofBoth = model.attend({ source, target });
  expect(await stateOf(page, "key"), "the last token of the source").toBe(String((ofBoth.sourceIds ?? []).length - 1));
  expect(await axe(page)).toEqual([]);
  await shoot(page, "compare-cross");
  await change(page, { attention: "encoder", compareText: "The girl sees the dog.", query: "3", key: "" });
  await expectRow({ source: "The girl sees the dog.", target }, "encoder", 3);
  expect(await texts(page, "#map >>> .cmp-kl li")).toEqual([]);
  expect(await texts(page, "#map >>> .cmp-strip b")).toEqual(["A", "B"]);
  await change(page, { attention: "cross", compareText: "", compareHead: "2.1" });
  const cells = (await texts(page, "#map >>> .cmp-table td")).map(number);
  const rows = { rows: [3, 4], attention: "cross" } as const;
  const [a, b] = [ofBoth.map(1, 2, rows).data, ofBoth.map(2, 1, rows).data];
  a.forEach((weight, col) => {
    const less = (b[col] ?? NaN) - weight;
    expect(Math.abs((cells[3 * col + 2] ?? NaN) - less)).toBeLessThan(2e-4);
  });
  await change(page, { compareHead: "", ablate: "1.1" });
  await seen(page, "#map >>> .cmp-heads, #map >>> progress");
  expect(await texts(page, "#map >>> .cmp-field")).toEqual([]);
  model.dispose();
});

test("it fits a phone, with a proposal of its own", async () => {
  const page = await views.open([{ ...kCompare, compareText: "" }], phone);
  await shoot(page, "compare-phone");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});
