// SPDX-License-Identifier: Apache-2.0
/** Changes of the model: silenced heads stay those of their attention, and the reader sees each change and takes it back. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { axe, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kPair = { model: "tiny-translator", source: "The cat sees the dog.", text: "Le chat voit le chien." } as const;

const chips = async (page: Page): Promise<string[]> =>
  (await texts(page, "#map >>> .chip")).map((words) => words.replace(/\s*×$/, ""));

async function matrix(page: Page): Promise<number[]> {
  const json = await page.$eval("#map", (element) => (element as AttentionMap).toJSON());
  return (JSON.parse(json) as { weights: (number | null)[][][][] }).weights.flat(3).map((weight) => weight ?? 0);
}

function expectNear(found: readonly number[], expected: ArrayLike<number>): void {
  expect(found).toHaveLength(expected.length);
  found.forEach((value, index) => expect(Math.abs(value - (expected[index] ?? NaN))).toBeLessThan(1e-4));
}

test("a silenced head stays that of its attention, whichever attention is looked at", async () => {
  const page = await views.open([{ ...kPair, attention: "cross", view: "map", layer: 0, head: 1, controls: "full" }]);
  await page.focus("#map >>> .plot");
  await page.keyboard.press("s");
  await seen(page, "#map >>> .chip ::-p-text(cross head 0.1 silenced)");
  expect(await stateOf(page, "ablate")).toBe("cross:0.1");
  await change(page, { attention: "encoder", layer: 1, head: 2 });
  await page.focus("#map >>> .plot");
  await page.keyboard.press("s");
  await seen(page, "#map >>> .chip ::-p-text(encoder head 1.2 silenced)");
  await change(page, { attention: "decoder", layer: 1, head: 0 });
  expect(await chips(page)).toEqual(["cross head 0.1 silenced", "encoder head 1.2 silenced"]);
  const model = await views.engine.loadModel("tiny-translator");
  const { layers, heads, encoder } = model.info;
  const without = (rows: number, cols: number, at: number): { data: Float32Array; shape: number[] } =>
    ({ data: new Float32Array(rows * cols).fill(1).fill(0, at, at + 1), shape: [rows, cols] });
  const input = { source: kPair.source, target: kPair.text };
  const [plain, changed] = [undefined, {
    crossHeadMask: without(layers, heads, 1),
    encoderHeadMask: without(encoder?.layers ?? 0, encoder?.heads ?? 0, (encoder?.heads ?? 0) + 2),
  }].map((options) => model.attend(input, options).map(1, 0).data);
  expectNear(await matrix(page), changed ?? []);
  const moves = [...(changed ?? [])].map((weight, cell) => Math.abs(weight - (plain?.[cell] ?? NaN)));
  expect(Math.max(...moves)).toBeGreaterThan(1e-3);
  await shoot(page, "changes");
  expect(await axe(page)).toEqual([]);
  await page.click("#map >>> .chip[aria-label*='encoder head 1.2']");
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelectorAll(".chip").length === 1);
  expect(await stateOf(page, "ablate")).toBe("cross:0.1");
  await change(page, { ablate: "cross:0.1", temperature: 2, zeroToken: "1" });
  await page.click("#map >>> .undo");
  await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".changes"));
  expect([await stateOf(page, "ablate"), await stateOf(page, "temperature"), await stateOf(page, "zeroToken")]).toEqual(["", 1, ""]);
  model.dispose();
});

test("views of the whole model say what is changed too, and names of heads are checked", async () => {
  const page = await views.open([{ text: kSentence, view: "flow", controls: "full", ablate: "decoder:0.5" }]);
  await seen(page, "#map >>> .chip ::-p-text(head 0.5 silenced)");
  await page.click("#map >>> .chip");
  await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".changes"));
  const said = async (ablate: string): Promise<string> => {
    await page.$eval("#map", (element, list) => void Object.assign(element, { ablate: list }), ablate);
    const alert = await seen(page, "#map >>> [role=alert] p");
    const words = await alert.evaluate(({ textContent }) => textContent ?? "");
    await change(page, { ablate: "" });
    return words;
  };
  expect(await said("cross:3.2")).toMatch(/ablate: the model has no head cross:3\.2; it has one attention/);
  expect(await said("sideways:3.2")).toMatch(/ablate: "sideways:3\.2" is not a head/);
});

test("what changes the picture alone is said, too, and each change and all of them can be taken back", async () => {
  const shaped = { combine: "mean", hide: "sink punctuation", threshold: 0.05, topK: 3, merge: "words" } as const;
  const page = await views.open([{ text: kSentence, view: "map", layer: 3, head: 4, controls: "full", temperature: 2, ...shaped }]);
  await seen(page, "#map >>> .chip ::-p-text(mean of all heads of layer 3)");
  const all = ["mean of all heads of layer 3", "pieces of words merged", "the first token hidden", "punctuation hidden",
    "weights below 0.05 left out", "3 largest of each query"];
  expect(await chips(page)).toEqual(["temperature 2", ...all]);
  expect(await texts(page, "#map >>> .changes > span")).toEqual(["The model is changed:", "Only the picture is changed:"]);
  expect(await axe(page)).toEqual([]);
  await page.click("#map >>> .chip[aria-label*='first token']");
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelectorAll(".chip").length === 6);
  expect(await stateOf(page, "hide")).toBe("punctuation");
  await shoot(page, "picture-changes");
  await page.click("#map >>> .changes:last-of-type .undo");
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelectorAll(".chip").length === 1);
  expect(await stateOf(page, "combine")).toBe("none");
  expect(await chips(page)).toEqual(["temperature 2"]);
});
