// SPDX-License-Identifier: Apache-2.0
/** The comparison of two texts: differences are the engine's, and its keys, fields and heads do what they say. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
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
  const found = await rows(page);
  expect(found).toHaveLength(kSentence.split(" ").length + 2);
  difference.pairs.forEach(([at], col) => {
    const [a = NaN, b = NaN, less = NaN] = found[at] ?? [];
    expect(Math.abs(less - (data[row * width + col] ?? NaN))).toBeLessThan(2e-4);
    expect(Math.abs(b - a - less)).toBeLessThan(2e-4);
  });
  const kl = (await texts(page, "#map >>> .cmp-kl small")).map(number);
  const exact = [...difference.divergences().data];
  exact.forEach((value, pair) => expect(Math.abs(value - (kl[pair] ?? NaN))).toBeLessThan(1e-3));
  expect(await texts(page, "#map >>> .cmp-words")).toEqual(["<s> The only in A queen only in B king saw the king and … 3 more …"]);
  // "king" stands in the place of "queen", so that the two are a pair.
  const { tokens } = views.tiny.attend(kSentence);
  const aligned = tokens.map((token) => token.trim());
  const weights = (text: string): Float32Array => views.tiny.attend(text).map(3, 4, { rows: [6, 7] }).data;
  expectRow(found, weights(kSentence), weights(kOther));
  expect((await texts(page, "#map >>> .cmp-table th"))[6]).toMatch(/queen.*B: .*king/);
  expect(await texts(page, "#map >>> .cmp-tops")).toEqual([expect.stringMatching(/^In A, .+and.+ looks most at .+queen.+ \(99\.5 %\); in B, at .+king.+ \(99\.1 %\)\.$/)]);
  for (const axis of ["rows", "cols"])
    expect((await texts(page, `#map >>> .cmp-figure:first-child .cmp-${axis} > span`)).map((text) => text.trim())).toEqual(aligned);
  expect((await texts(page, "#map >>> .cmp-figure:last-child .cmp-rows .chosen")).map((text) => text.trim())).toEqual(["and"]);
  // Two of these maps stand side by side, and such names have space beside narrow ones, too.
  const widths = await page.$$eval("#map >>> .cmp-rows > span", (names) => names.map((name) => name.getBoundingClientRect().width));
  expect(widths).toHaveLength(3 * aligned.length);
  expect(Math.min(...widths)).toBeGreaterThan(0);
  // Names of columns are whole and turned in what is exported, too.
  const svg = await page.$eval("#map", (element) => (element as AttentionMap).toSVG());
  const turned = [...svg.matchAll(/rotate\(-60 [^>]*>\u2068([^<]*)\u2069</g)].map(([, text = ""]) =>
    text.replace("·", "").replace("&lt;", "<").replace("&gt;", ">"));
  expect(turned).toEqual([...aligned, ...aligned.with(2, "king"), ...aligned]);
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
  // Where one text has more words in a place than the other, none of them has a partner.
  await change(page, { compareText: kSentence.replace("queen", "king of hearts") });
  expect(await texts(page, "#map >>> .cmp-figure:first-child .cmp-rows > span.in-a")).toEqual([]);
  expect(await rows(page)).toHaveLength(tokens.length - 1);
  await change(page, { compareText: "", compareHead: "1.2" });
  expect(await texts(page, "#map >>> .cmp-heads")).toEqual([]);
  await change(page, { compareHead: "", ablate: "0.5" });
  expect(await texts(page, "#map >>> .cmp-field")).toEqual([]);
});

/** The rows of the table twin: A, B and B − A of each key of the chosen row. */
async function rows(page: Page): Promise<number[][]> {
  const cells = (await texts(page, "#map >>> .cmp-table td")).map(number);
  return Array.from({ length: cells.length / 3 }, (_, row) => cells.slice(3 * row, 3 * row + 3));
}

function expectRow(found: readonly number[][], a: ArrayLike<number>, b: ArrayLike<number>): void {
  expect(found).toHaveLength(a.length);
  found.forEach(([inA = NaN, inB = NaN, less = NaN], col) => {
    const [ofA, ofB] = [a[col] ?? NaN, b[col] ?? NaN];
    for (const apart of [inA - ofA, inB - ofB, less - (ofB - ofA)]) expect(Math.abs(apart)).toBeLessThan(2e-4);
  });
}

const ready = (page: Page): Promise<void> => page.$eval("#map", (element) => (element as AttentionMap).ready());

async function write(page: Page, field: number, text: string): Promise<void> {
  const input = (await page.$$("#map >>> .cmp-field"))[field];
  await input?.click({ count: 3 });
  await page.keyboard.press("Backspace");
  await page.keyboard.type(text);
  await page.keyboard.press("Tab");
  await ready(page);
}

test("the other source or translation of an encoder–decoder is compared in each attention", async () => {
  const pair = { source: "The cat sees the dog.", text: "Le chat voit le chien." } as const;
  const kPair = { model: "tiny-translator", view: "compare", ...pair, attention: "cross", layer: 1, head: 0 } as const;
  const page = await views.open([{ ...kPair, query: "3" }]);
  const fields = (): Promise<string[]> =>
    page.$$eval("#map >>> .cmp-field", (all) => all.map((field) => (field as HTMLInputElement).value));
  expect(await fields()).toEqual(["The dog sees the cat.", ""]);
  await change(page, { compareSource: "The dog sees the dog." });
  const model = await views.engine.loadModel("tiny-translator");
  const rowIn = (source: string, target: string, attention: "cross" | "encoder" | "decoder", row: number): Float32Array =>
    model.attend({ source, target }).map(1, 0, { attention, rows: [row, row + 1] }).data;
  const [sourceA, sourceB] = [pair.source, "The dog sees the dog."];
  expectRow(await rows(page), rowIn(sourceA, pair.text, "cross", 3), rowIn(sourceB, pair.text, "cross", 3));
  await shoot(page, "compare-cross");
  expect(await axe(page)).toEqual([]);
  await change(page, { attention: "encoder" });
  expectRow(await rows(page), rowIn(sourceA, pair.text, "encoder", 3), rowIn(sourceB, pair.text, "encoder", 3));
  await change(page, { attention: "decoder", compareSource: "", compareText: "Le chat voit le chat." });
  expectRow(await rows(page), rowIn(sourceA, pair.text, "decoder", 3), rowIn(sourceA, "Le chat voit le chat.", "decoder", 3));
  await change(page, { attention: "cross", compareText: "", compareHead: "0.2" });
  expect(await rows(page), "heads of rectangular maps are compared too").toHaveLength(7);
  model.dispose();
});

test("an emptied field stays empty and says so, and what cannot be compared is said beside the field", async () => {
  const page = await views.open([{ ...kCompare, compareText: "" }]);
  const field = (): Promise<string> => page.$eval("#map >>> .cmp-field", (input) => (input as HTMLInputElement).value);
  expect(await field()).toBe("The king saw the queen and she laughed.");
  await write(page, 0, "");
  expect(await field()).toBe("");
  expect(await texts(page, "#map >>> .cmp-note")).toEqual(["Write a text to compare with."]);
  expect(await page.$$("#map >>> .cmp-plot")).toHaveLength(0);
  expect(await axe(page)).toEqual([]);
  await write(page, 0, kOther);
  expect(await page.$$("#map >>> .cmp-plot")).toHaveLength(3);
  await page.click("#map >>> .segments label:nth-child(2)");
  await write(page, 0, "9.9");
  expect((await texts(page, "#map >>> .cmp-note"))[0]).toMatch(/^compare-head: the other model has no head 9\.9; it has 4 layers of 8/);
  await write(page, 0, "1.2");
  expect(await texts(page, "#map >>> .cmp-figure figcaption")).toEqual(["A head 3.4", "B head 1.2", "B − A orange is less, blue is more"]);
  await page.click("#map >>> .segments label:nth-child(3)");
  await ready(page);
  expect(await stateOf(page, "compareModel"), "another model is proposed").toBe("tiny-bert");
  const a = views.tiny.attend(kSentence);
  const bert = await views.engine.loadModel("tiny-bert");
  const b = bert.attend(kSentence);
  const letters = (token: string): string => token.trim().replace("##", "").toLowerCase();
  const common = a.tokens.map((token, at) => [at, b.tokens.map(letters).indexOf(letters(token))] as const)
    .filter(([, at]) => at >= 0);
  // The sentence has "the" twice, so that the first found is not always the aligned one.
  const the = b.tokens.map(letters).lastIndexOf("the");
  const pairs = common.map(([at, of]) => [at, letters(a.tokens[at] ?? "") === "the" && at > 2 ? the : of] as const);
  const row = (map: Float32Array, width: number, side: 0 | 1): number[] =>
    pairs.map((pair) => map[(pairs.find(([at]) => at === 6)?.[side] ?? 0) * width + pair[side]] ?? NaN);
  expectRow(await rows(page), row(a.map(3, 4).data, a.tokens.length, 0), row(b.map(3, 4).data, b.tokens.length, 1));
  expect((await texts(page, "#map >>> .cmp-note"))[0]).toMatch(/those with the same letters are aligned/);
  await shoot(page, "compare-models");
  await write(page, 0, "tiny-translator");
  expect((await texts(page, "#map >>> .cmp-note"))[0]).toMatch(/source is missing/);
  for (const of of [a, b, bert]) of.dispose();
});

test("attributes of an author say what is compared, and each map has its scale in writing", async () => {
  const page = await views.open([kCompare]);
  await page.evaluate(async (text) => {
    const places = { text, view: "compare", layer: "3", head: "4", "compare-text": text.replace("queen", "king"), "compare-head": "1.2" };
    const figure = document.createElement("attention-map");
    for (const [name, value] of Object.entries(places)) figure.setAttribute(name, value);
    document.querySelector("main")?.replaceChildren(figure);
    figure.id = "map";
    await figure.ready();
  }, kSentence);
  expect(await texts(page, "#map >>> .cmp-figure figcaption")).toEqual([
    "A this text, 3.4", "B the other text, 1.2", "B − A orange is less, blue is more",
  ]);
  const scales = (await texts(page, "#map >>> .cmp-scale .unseen")).map((words) => words.replace("Scale: ", ""));
  expect(scales.slice(0, 2)).toEqual(["0 – 1", "0 – 1"]);
  expect(scales[2]).toMatch(/^−(\d\.\d\d) – \1$/);
});

test("it fits a phone, with a proposal of its own", async () => {
  const page = await views.open([{ ...kCompare, compareText: "" }], phone);
  await shoot(page, "compare-phone");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});
