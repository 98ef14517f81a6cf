// SPDX-License-Identifier: Apache-2.0
/** Composition: paths and scores are those of the engine in Node, and a path opens its two heads. */
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kText = "One two three. One two three.";
const kItems = "#map >>> .composition-list button";

/** The places of a path and its numbers, from a line such as "0.5 → 1.3 through keys: share 0.41, weights 0.22". */
function read(line: string): { places: string; numbers: number[] } {
  const [places = "", numbers = ""] = line.trim().split(": ");
  return { places, numbers: [...numbers.matchAll(/\d\.\d+/g)].map(([number]) => Number(number)) };
}

test("the previous-token and the induction head come first, with the engine's numbers", async () => {
  const page = await views.open([{ view: "composition", text: kText }]);
  using attention = views.tiny.attend(kText, { keepParts: true });
  const paths = await attention.paths({ rank: "induction", top: 10 });
  const lines = (await texts(page, kItems)).map(read);
  expect(lines.map(({ places }) => places)).toEqual(paths.map(({ earlier, later }) =>
    `${earlier.layer}.${earlier.head} → ${later.layer}.${later.head} through keys`));
  expect(lines[0]?.places).toBe("0.5 → 1.3 through keys");
  paths.forEach(({ share, weights, previous, induction }, index) =>
    [share, weights, previous, induction].forEach((value, at) =>
      expect(Math.abs((value ?? NaN) - (lines[index]?.numbers[at] ?? NaN))).toBeLessThan(6e-3)));
  expect((await texts(page, "#map >>> .composition-dot.open")).map((text) => text.slice(0, 3))).toEqual(["0.5", "1.3"]);
  expect(await page.$$eval("#map >>> .composition-arc", (arcs) => arcs.length)).toBe(10);
  await shoot(page, "composition-desktop");
  expect(await axe(page)).toEqual([]);
  await page.focus(`${kItems}[data-stop='0']`);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await seen(page, `${kItems}[data-stop='1'][aria-pressed='true']`);
  await page.click("#map >>> .composition-map");
  expect(await stateOf(page, "view")).toBe("map");
});

test("arcs are one tab stop with names; keys open, pin and silence, and do so at heads and in the list", async () => {
  const page = await views.open([{ view: "composition", text: kText }]);
  const named = (): Promise<string | null | undefined> => page.evaluate(() =>
    document.querySelector("#map")?.shadowRoot?.activeElement?.getAttribute("aria-label"));
  const lines = await texts(page, kItems);
  expect(await page.$$eval("#map >>> .composition-arc[tabindex='0']", (found) => found.length)).toBe(1);
  await page.focus("#map >>> .composition-controls input[type=range]");
  await page.keyboard.press("Tab");
  expect(await named()).toBe(lines[0]);
  await page.keyboard.press("ArrowRight");
  expect(await named()).toBe(lines[1]);
  expect(await texts(page, "#map >>> .composition-readout")).toEqual([lines[1]]);
  await shoot(page, "composition-arc");
  await page.keyboard.press("Enter");
  await seen(page, "#map >>> .composition-arc[data-stop='1'][aria-pressed='true']");
  await page.keyboard.press("p");
  await page.waitForFunction(() => document.querySelector("#map")?.getAttribute("query"));
  using attention = views.tiny.attend(kText, { keepParts: true });
  const [, path] = await attention.paths({ rank: "induction", top: 10 });
  if (!path) throw new Error("no path");
  const { data, shape: [, width = 0] } = attention.map(path.later.layer, path.later.head);
  const [query, key] = [Number(await stateOf(page, "query")), Number(await stateOf(page, "key"))];
  expect(data[query * width + key]).toBeGreaterThan(0.1);
  await page.keyboard.press("Escape");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["", ""]);
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press("s");
  expect(await stateOf(page, "ablate")).toBe(`${path.earlier.layer}.${path.earlier.head}`);
  await page.focus("#map >>> .composition-dot[data-stop='3']");
  await page.keyboard.press("p");
  await page.keyboard.press("s");
  expect([await stateOf(page, "heads"), await stateOf(page, "ablate")]).toEqual(["0.3", `${path.earlier.layer}.${path.earlier.head} 0.3`]);
});

test("scores from weights are the engine's for every pair of layers", async () => {
  const page = await views.open([{ view: "composition", text: kText, theme: "dark" }], phone);
  await page.$$eval("#map >>> .composition-controls input[type=radio]", (radios) => (radios[3] as HTMLElement).click());
  await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".composition-controls progress"));
  const all = [1, 2, 3].flatMap((later) => Array.from({ length: later }, (_, earlier) => {
    const [first, second] = [views.tiny.layerWeights(earlier), views.tiny.layerWeights(later)];
    const { key } = views.engine.compositionScores(first.state, second.state, {
      numHeads: 8, numKvHeads: views.tiny.info.kvHeads, earlierNorm: first.norm, laterNorm: second.norm,
    });
    return key.flatMap((row, h) => row.map((value, g) => ({
      places: `${earlier}.${g} → ${later}.${h} through keys`, value: value ?? 0,
    })));
  })).flat().sort((a, b) => b.value - a.value).slice(0, 10);
  const lines = (await texts(page, kItems)).map(read);
  expect(lines.map(({ places }) => places)).toEqual(all.map(({ places }) => places));
  lines.forEach(({ numbers: [value = NaN] }, index) =>
    expect(Math.abs(value - (all[index]?.value ?? NaN))).toBeLessThan(6e-3));
  await shoot(page, "composition-phone");
  expect(await axe(page)).toEqual([]);
  await change(page, { model: "tiny-translator", source: "The cat sleeps.", text: "Le chat dort." });
  expect((await texts(page, "#map >>> .composition-note"))[0]).toMatch(/^The heads of an encoder–decoder/);
});

test("a text in which no token comes again has no induction, and shows all of its paths", async () => {
  const page = await views.open([{ view: "composition", text: kSentence }]);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const paths = await attention.paths({ rank: "share", top: 10 });
  const induction = await attention.paths({ rank: "induction", top: 10 });
  const lines = (await texts(page, kItems)).map(read);
  expect(induction.length).toBe(0);
  expect(lines.map(({ places }) => places.slice(0, 9))).toEqual(paths.map(({ earlier, later }) =>
    `${earlier.layer}.${earlier.head} → ${later.layer}.${later.head}`));
});
