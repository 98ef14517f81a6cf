// SPDX-License-Identifier: Apache-2.0
/** The strips of a head: their numbers are means of the engine's maps, choices tint the other strip, and a token is found in all maps. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kLooked = "#map >>> .tokens-row[aria-label='Tokens that are looked at'] button";
const kLooking = "#map >>> .tokens-row[aria-label='Tokens that look'] button";

const numbers = async (page: Page, selector: string): Promise<number[]> =>
  (await texts(page, `${selector} .tokens-number`)).map((text) => Number(text.replace("−", "-")));

function expectClose(shown: readonly number[], computed: readonly number[]): void {
  expect(shown.length).toBe(computed.length);
  shown.forEach((value, index) => expect(Math.abs(value - (computed[index] ?? NaN)), `token ${index}`).toBeLessThan(6e-4));
}

/** The map of a head, as rows. */
function rowsOf(layer: number, head: number): number[][] {
  using attention = views.tiny.attend(kSentence);
  const { data, shape: [rows = 0, cols = 0] } = attention.map(layer, head);
  return Array.from({ length: rows }, (_, row) => [...data.subarray(row * cols, (row + 1) * cols)]);
}

/** The mean of a column over the queries that see it, which in `tiny` are those from its own on. */
function columnMean(map: readonly (readonly number[])[], col: number): number {
  const from = map.slice(col);
  return from.reduce((sum, row) => sum + (row[col] ?? NaN), 0) / from.length;
}

test("the strips are the columns' means and the rows' largest weights, and a chosen token tints the other strip", async () => {
  const page = await views.open([{ view: "strips", text: kSentence, layer: 3, head: 4 }]);
  const map = rowsOf(3, 4);
  expectClose(await numbers(page, kLooked), map.map((_, col) => columnMean(map, col)));
  expectClose(await numbers(page, kLooking), map.map((row) => Math.max(...row)));
  expect((await texts(page, "#map >>> .strips .strips-title")).at(2)).toMatch(/‘\u2068and\u2069’ to ‘\u2068queen\u2069’/);
  await shoot(page, "strips-desktop");
  expect(await axe(page)).toEqual([]);
  await page.click(`${kLooking}:nth-child(7)`);
  expect(await stateOf(page, "query")).toBe("6");
  await seen(page, "#map >>> .strips-note ::-p-text(How much ‘)");
  expectClose((await numbers(page, kLooked)).slice(0, 7), (map[6] ?? []).slice(0, 7));
  await page.keyboard.down("Shift");
  await page.click(`${kLooking}:nth-child(8)`);
  await page.keyboard.up("Shift");
  expect(await stateOf(page, "query")).toBe("6 7");
  await page.click(`${kLooked}:nth-child(3)`);
  expect(await stateOf(page, "key")).toBe("2");
  expectClose((await numbers(page, kLooking)).slice(2), map.slice(2).map((row) => row[2] ?? NaN));
  await page.keyboard.down("Shift");
  await page.click(`${kLooked}:nth-child(5)`);
  await page.keyboard.up("Shift");
  expect(await stateOf(page, "key")).toBe("2 4");
  const both = map.slice(4).map((row) => ((row[2] ?? NaN) + (row[4] ?? NaN)) / 2);
  expectClose((await numbers(page, kLooking)).slice(4), both);
  const again = await views.open([{ view: "strips", text: kSentence, layer: 3, head: 4, query: "6 7", key: "2 4" }]);
  const chosen = await again.$$eval(`${kLooked}[aria-pressed='true']`, (found) => found.map(({ dataset }) => dataset.stop));
  expect(chosen).toEqual(["2", "4"]);
  expect(await numbers(again, kLooking)).toEqual(await numbers(page, kLooking));
  await again.close();
  await page.keyboard.press("Escape");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["", ""]);
});

test("every head's weight of the chosen pair is shown, and choosing one opens it", async () => {
  const page = await views.open([{ view: "strips", text: kSentence, layer: 3, head: 4, query: "6", key: "2" }], phone);
  const shown = (await texts(page, "#map >>> .strips-heads td button")).map(Number);
  const computed = Array.from({ length: 32 }, (_, index) => rowsOf(Math.floor(index / 8), index % 8)[6]?.[2] ?? NaN);
  expect(shown.length).toBe(32);
  shown.forEach((value, index) => expect(Math.abs(value - (computed[index] ?? NaN))).toBeLessThan(5.1e-3));
  expect(await axe(page)).toEqual([]);
  await shoot(page, "strips-phone");
  await page.focus("#map >>> .strips-heads button[data-stop='0']");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  expect([await stateOf(page, "layer"), await stateOf(page, "head")]).toEqual([0, 1]);
});

test("a typed token lists the heads that look at it most, and the first opens with the key pinned", async () => {
  const page = await views.open([{ view: "strips", text: kSentence, layer: 3, head: 4, theme: "dark" }]);
  await page.type("#map >>> .strips-search input", "QUE");
  await seen(page, "#map >>> .strips-note ::-p-text(1 token begins so)");
  const heads = Array.from({ length: 32 }, (_, index) => {
    const [layer, head] = [Math.floor(index / 8), index % 8];
    return { layer, head, value: columnMean(rowsOf(layer, head), 2) };
  }).sort((a, b) => b.value - a.value);
  expect(await texts(page, "#map >>> .strips-head")).toEqual(heads.slice(0, 12).map(({ layer, head }) => `${layer}.${head}`));
  expectClose((await texts(page, "#map >>> .strips-value")).map(Number), heads.slice(0, 12).map(({ value }) => value));
  expect(await axe(page)).toEqual([]);
  await shoot(page, "strips-dark");
  await page.click("#map >>> .strips-found button");
  expect([await stateOf(page, "layer"), await stateOf(page, "head"), await stateOf(page, "key")])
    .toEqual([heads[0]?.layer, heads[0]?.head, "2"]);
  await page.type("#map >>> .strips-search input", "zzz");
  await seen(page, "#map >>> .strips-note ::-p-text(No token begins so)");
});

test("given arrays have strips too, with a mask and with negative numbers", async () => {
  const page = await views.open([{ view: "strips", weights: [[[1, 0], [-0.5, 0.25]]], tokens: ["a", "<b>"], mask: [[1, 0], [1, 1]] }]);
  expect(await numbers(page, kLooked)).toEqual([0.25, 0.25]);
  expect(await numbers(page, kLooking)).toEqual([1, -0.5]);
  await change(page, { key: "1" });
  expect(await texts(page, `${kLooking} .tokens-number`)).toEqual(["–", "0.250"]);
});
