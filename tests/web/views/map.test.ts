// SPDX-License-Identifier: Apache-2.0
/** The map of a head: pins, what a reader leaves out, merges and combines, changes of the model, and linked elements. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();

interface Exported {
  readonly tokens: string[];
  readonly keyTokens: string[];
  readonly weights: (number | null)[][][][];
}

/** The numbers that the element shows, as it exports them. Cells that are masked or left out are null or 0. */
async function shown(page: Page): Promise<Exported> {
  const json = await page.$eval("#map", (element) => (element as AttentionMap).toJSON());
  return JSON.parse(json) as Exported;
}

const flat = ({ weights }: Exported): number[] => weights.flat(3).map((value) => value ?? 0);

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  const farthest = Math.max(...actual.map((value, index) => Math.abs(value - (expected[index] ?? NaN))));
  expect(farthest).toBeLessThan(1e-5);
}

const kHead = { view: "map", text: kSentence, layer: 3, head: 4, controls: "full" } as const;

test("a click pins a cell, Shift adds rows, whose mean is shown, and Escape frees them", async () => {
  const page = await views.open([kHead]);
  const cells = await seen(page, "#map >>> .cells");
  const box = (await cells.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const at = (row: number, col: number): [number, number] =>
    [box.x + ((col + 0.5) / 10) * box.width, box.y + ((row + 0.5) / 10) * box.height];
  const [first = ""] = await texts(page, "#map >>> .strip-title");
  expect(first, "at first the strip shows the row with the strongest link").toMatch(/looks at$/);
  await page.mouse.click(...at(6, 2));
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["6", "2"]);
  const attention = views.tiny.attend(kSentence);
  const { data } = attention.map(3, 4);
  const row = (index: number): number[] => [...data.subarray(index * 10, index * 10 + 10)];
  const most = (weights: readonly number[]): string => Math.max(...weights).toFixed(3);
  await page.mouse.move(0, 0);
  expect((await texts(page, "#map >>> .strip-value"))[0]).toBe(most(row(6)));
  await page.keyboard.down("Shift");
  await page.mouse.click(...at(8, 2));
  await page.keyboard.up("Shift");
  await page.mouse.move(0, 0);
  expect(await stateOf(page, "query")).toBe("6 8");
  expect(await texts(page, "#map >>> .strip-title")).toEqual(["Mean of 2 queries looks at"]);
  const mean = row(6).map((value, col) => (value + (row(8)[col] ?? 0)) / 2);
  expect((await texts(page, "#map >>> .strip-value"))[0]).toBe(most(mean));
  await page.focus("#map >>> .plot");
  await page.keyboard.press("Escape");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["", ""]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("p");
  expect(await stateOf(page, "query")).toMatch(/^\d+$/);
  attention.dispose();
});

test("keys are hidden, pieces of words merged, and small weights left out of the picture", async () => {
  const page = await views.open([{ ...kHead, hide: "sink punctuation" }]);
  const attention = views.tiny.attend(kSentence);
  const { data } = attention.map(3, 4);
  const { tokens } = attention;
  const kept = tokens.map((_, index) => index).filter((index) => index > 0 && tokens[index] !== ".");
  const hidden = await shown(page);
  expect(hidden.keyTokens).toEqual(kept.map((index) => tokens[index]));
  expectClose(flat(hidden), tokens.flatMap((_, row) => kept.map((col) => data[row * tokens.length + col] ?? NaN)));
  attention.dispose();

  const text = "Unbelievable overstatements.";
  const pieces = views.tiny.attend(text);
  const count = pieces.tokens.length;
  const weights = pieces.map(3, 4).data;
  await change(page, { hide: "", merge: "words", text });
  const merged = await shown(page);
  expect(merged.tokens.length).toBeLessThan(count);
  expect(merged.tokens.join("")).toBe(pieces.tokens.join(""));
  let begin = 0;
  const ranges = merged.tokens.map((word) => {
    const from = begin;
    for (let length = 0; length < word.length; begin++) length += (pieces.tokens[begin] ?? "").length;
    return [from, begin] as const;
  });
  const expected = ranges.flatMap(([top, bottom]) => ranges.map(([left, right]) => {
    let sum = 0;
    for (let row = top; row < bottom; row++)
      for (let col = left; col < right; col++) sum += weights[row * count + col] ?? NaN;
    return sum / (bottom - top);
  }));
  expectClose(flat(merged), expected);
  pieces.dispose();

  await change(page, { merge: "none", text: kSentence, topK: 1, threshold: 0.4 });
  const left = await shown(page);
  for (let row = 0; row < 10; row++) {
    const own = [...data.subarray(row * 10, row * 10 + 10)];
    const cells = left.weights[0]?.[0]?.[row] ?? [];
    cells.forEach((value, col) => {
      const isShown = own[col] === Math.max(...own) && (own[col] ?? 0) >= 0.4;
      expect(typeof value === "number" && value > 0, `row ${row}, column ${col}`).toBe(isShown);
    });
  }
  expect(await texts(page, "#map >>> .legend .masked")).toContain("left out");
  await page.hover("#map >>> .cells");
});

test("the links from one text to another are chosen by their segments", async () => {
  const [text, textPair] = ["Lucy wanted pears.", "She bought pears."];
  const page = await views.open([{ ...kHead, model: "tiny-bert", text, textPair, layer: 1, head: 2, segments: "BA" }]);
  const bert = await views.engine.loadModel("tiny-bert");
  const attention = bert.attend(text, { textPair });
  const { tokens } = attention;
  const end = tokens.indexOf("[SEP]") + 1;
  const chosen = await shown(page);
  expect([chosen.tokens, chosen.keyTokens]).toEqual([tokens.slice(end), tokens.slice(0, end)]);
  const { data } = attention.map(1, 2, { rows: [end, tokens.length], cols: [0, end] });
  expectClose(flat(chosen), [...data]);
  await page.$eval("#map", (map) => void Object.assign(map, { model: "tiny", textPair: "", layer: 3 }));
  const alert = await seen(page, "#map >>> [role=alert] p");
  expect(await alert.evaluate(({ textContent }) => textContent)).toMatch(/^segments: the text is one/);
  bert.dispose();
});

test("heads are combined: mean, largest, and weighted by the values' norms", async () => {
  const page = await views.open([{ ...kHead, combine: "mean", heads: "3.4 0.5" }]);
  const attention = views.tiny.attend(kSentence, { keepValues: true });
  const [a, b] = [attention.map(3, 4).data, attention.map(0, 5).data];
  expectClose(flat(await shown(page)), [...a].map((value, cell) => (value + (b[cell] ?? NaN)) / 2));
  await change(page, { combine: "max", heads: "" });
  const all = Array.from({ length: 8 }, (_, head) => attention.map(3, head).data);
  expectClose(flat(await shown(page)), [...a].map((_, cell) => Math.max(...all.map((map) => map[cell] ?? NaN))));
  await change(page, { combine: "norm" });
  const { data, shape } = attention.values(3);
  const values = { data: data.subarray(4 * 10 * 16, 5 * 10 * 16), shape: [1, ...shape.slice(1)] };
  const weighted = views.engine.weightedMap({ data: a, shape: [1, 10, 10] }, values);
  expectClose(flat(await shown(page)), [...weighted.data]);
  attention.dispose();
});

test("a changed model's maps are drawn, said to be so, and each change can be taken back", async () => {
  const page = await views.open([{ ...kHead, ablate: "0.5", temperature: 2 }]);
  const headMask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
  headMask.data[5] = 0;
  const changed = views.tiny.attend(kSentence, { headMask, temperature: 2 });
  expectClose(flat(await shown(page)), [...changed.map(3, 4).data]);
  changed.dispose();
  expect((await texts(page, "#map >>> .chip")).map((words) => words.replace(/\s*×$/, ""))).toEqual(["head 0.5 silenced", "temperature 2"]);
  await page.click("#map >>> .chip[aria-label*='silenced']");
  await page.click("#map >>> .chip[aria-label*='temperature']");
  await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".changes"));
  expect([await stateOf(page, "ablate"), await stateOf(page, "temperature")]).toEqual(["", 1]);
  await page.focus("#map >>> .plot");
  await page.keyboard.press("s");
  await seen(page, "#map >>> .chip ::-p-text(head 3.4 silenced)");
  await change(page, { ablate: "", forbid: "0" });
  const forbidden = views.tiny.attend(kSentence, { forbiddenDiagonals: [0] });
  expectClose(flat(await shown(page)), [...forbidden.map(3, 4).data]);
  forbidden.dispose();
  expect(await views.open([{ ...kHead }]).then((other) => texts(other, "#map >>> .chip"))).toEqual([]);
});

test("mistakes in the settings are said in words", async () => {
  const page = await views.open([kHead]);
  const said = async (properties: Record<string, unknown>): Promise<string> => {
    await page.$eval("#map", (element, given) => void Object.assign(element, given), properties);
    const alert = await seen(page, "#map >>> [role=alert] p");
    return alert.evaluate(({ textContent }) => textContent ?? "");
  };
  expect(await said({ hide: "cats" })).toBe('hide: "cats" is not known; sink, special, punctuation are');
  await change(page, { hide: "" });
  expect(await said({ ablate: "9.9" })).toMatch(/ablate: the model has no head 9\.9; it has 4 layers of 8 heads/);
  await change(page, { ablate: "" });
  expect(await said({ ablate: "<b>" })).toBe('ablate: "<b>" is not a head, as 3.2 is head 2 of layer 3');
});

test("elements of a group show the same, and one cursor", async () => {
  const page = await views.open([{ ...kHead, group: "a" }, { view: "grid", group: "a" }]);
  expect(await stateOf(page, "text", "map1"), "the second takes what the first shows").toBe(kSentence);
  await page.click("#map1 >>> .thumb[data-layer='1'][data-head='2']");
  await seen(page, "#map >>> .title ::-p-text(1.2)");
  await change(page, { text: "Anna saw Ben." }, "map1");
  expect(await stateOf(page, "text")).toBe("Anna saw Ben.");
});

test.each(["light", "dark"] as const)("the settings are clean for axe, and looked at: %s", async (scheme) => {
  const page = await views.open([{ ...kHead, ablate: "0.5", query: "6", key: "2" }], { width: 900, height: 1000, scheme });
  await page.locator("#map >>> .drawer summary").click(); // a locator waits until it stands still
  expect(await axe(page)).toEqual([]);
  await shoot(page, `map-settings-${scheme}`);
  await page.close();
  const small = await views.open([{ ...kHead, query: "6", key: "2" }], { ...phone, scheme });
  await small.locator("#map >>> .drawer summary").click();
  expect(await axe(small)).toEqual([]);
  await shoot(small, `map-settings-phone-${scheme}`);
});
