// SPDX-License-Identifier: Apache-2.0
/** Decoding: what each step shows is what the engine's own decoding gives. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyInput, Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, phone, root, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kText = "The queen saw the king and she";

const numbersIn = (text: string): number[] =>
  (text.replaceAll("−", "-").replaceAll(",", "").match(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g) ?? []).map(Number);

/** The newest row, as readers hear it. */
const row = async (page: Page): Promise<number[]> => (await texts(page, ".decode-newest td")).flatMap(numbersIn);

function expectNear(found: readonly number[], expected: ArrayLike<number>, most = 1e-4): void {
  expect(found).toHaveLength(expected.length);
  found.forEach((value, index) => expect(Math.abs(value - (expected[index] ?? NaN))).toBeLessThan(most));
}

/** Waits until the whole text is read, and its cache measured. */
const isRead = (page: Page): Promise<unknown> => page.waitForFunction(() => {
  const shadow = document.querySelector("#map")?.shadowRoot;
  const cells = [...(shadow?.querySelectorAll(".decode-twin td") ?? [])];
  return !shadow?.querySelector(".decode-count small") && !cells.some(({ textContent }) => textContent === "–");
});

/** Moves the scrubber to a step, as the arrow keys do. */
async function scrub(page: Page, key: KeyInput, times = 1): Promise<void> {
  await page.focus("#map >>> .decode-scrub");
  for (let time = 0; time < times; time++) await page.keyboard.press(key);
}

/** Waits until the model has gone on with so many tokens. */
const made = (page: Page, count: number): Promise<unknown> => page.waitForFunction(
  (tokens) => document.querySelector("#map")?.shadowRoot?.querySelectorAll(".decode-made").length === tokens, {}, count,
);

test("each step adds the row that the engine's decoding gives, and says what the model expects and what came", async () => {
  const page = await views.open([{ model: "tiny", text: kSentence, view: "decode", layer: 3, head: 4 }]);
  await isRead(page);
  const whole = views.tiny.attend(kSentence, { keepHidden: true });
  const [decoding, half] = [views.tiny.startDecoding(), views.tiny.startDecoding({ dtype: "bfloat16" })];
  expect((await texts(page, ".decode-sentence"))[0]).toContain("Step 7 reads"); // the strongest link
  await scrub(page, "Home");
  const apart = (a: Float32Array, b: Float32Array): number =>
    Math.max(...a.map((weight, at) => Math.abs(weight - (b[at] ?? NaN))));
  let [most, mostHalf] = [0, 0];
  for (const [step, id] of whole.ids.entries()) {
    if (step > 0) await scrub(page, "ArrowRight");
    decoding.step([id]);
    half.step([id]);
    const [found, full] = [decoding.map(3, 4).data, whole.map(3, 4, { rows: [step, step + 1] }).data];
    expectNear(await row(page), found);
    [most, mostHalf] = [Math.max(apart(found, full), most), Math.max(apart(half.map(3, 4).data, full), mostHalf)];
    const expected = whole.predictions({ position: step, top: 5 });
    const lines = (await texts(page, ".decode-next li span:nth-child(2)")).flatMap(numbersIn);
    expectNear(lines.slice(0, 5), expected.map(({ probability }) => 100 * probability), 0.11);
  }
  await seen(page, ">>> .decode-note ::-p-text(the text ends here)");
  expect(numbersIn((await texts(page, ".decode-bytes b"))[0] ?? "")).toEqual([10 * 4 * 8 * 16 * 2 * 4]);
  const [, soFar = NaN] = (await texts(page, ".decode-exact b")).flatMap(numbersIn);
  expect(soFar).toBeLessThan(Math.max(4 * most, 2e-6)); // another SIMD build rounds otherwise
  await page.select("#map >>> .decode-format", "bfloat16");
  await seen(page, ">>> .decode-bytes ::-p-text(20,480 bytes)");
  await isRead(page);
  const [, halfSoFar = NaN] = (await texts(page, ".decode-exact b")).flatMap(numbersIn);
  expect(halfSoFar / mostHalf).toBeGreaterThan(0.5);
  expect(halfSoFar / mostHalf).toBeLessThan(2);
  await scrub(page, "ArrowLeft", 3);
  await seen(page, ">>> .decode-came ::-p-text(she)");
  expect(await stateOf(page, "query")).toBe("6");
  expect(await axe(page)).toEqual([]);
  await shoot(page, "decode-desktop");
  await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
  await page.click("#map >>> [aria-label='Play the reading']");
  await seen(page, ">>> .decode-count ::-p-text(8 / 10)");
  expect(await texts(page, "[aria-label='Pause']"), "nothing plays by itself").toEqual([]);
  for (const of of [decoding, half, whole]) of.dispose();
});

test("steps are read with the reader's silenced heads, temperature and normaliser", async () => {
  const page = await views.open([{ model: "tiny", text: kSentence, view: "decode", layer: 3, head: 4, query: "6", ablate: "2.2 3.1", temperature: 2, normalizer: "sparsemax" }]);
  await isRead(page);
  const headMask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
  headMask.data[2 * 8 + 2] = headMask.data[3 * 8 + 1] = 0;
  const changes = { headMask, temperature: 2, normalizer: "sparsemax" } as const;
  const whole = views.tiny.attend(kSentence, changes), decoding = views.tiny.startDecoding(changes);
  for (const id of whole.ids.slice(0, 7)) decoding.step([id]);
  expectNear(await row(page), decoding.map(3, 4).data);
  const expected = whole.predictions({ position: 6, top: 5 });
  const lines = (await texts(page, ".decode-next li span:nth-child(2)")).flatMap(numbersIn);
  expectNear(lines.slice(0, 5), expected.map(({ probability }) => 100 * probability), 0.11);
  expect((await texts(page, ".decode-exact b")).flatMap(numbersIn)[1]).toBeLessThan(5e-6);
  expect((await texts(page, ".decode-note")).join()).not.toContain("not in these numbers");
  await page.click("#map >>> [data-go=one]");
  await made(page, 1);
  await seen(page, ">>> .decode-exact ::-p-text(differs from that of the whole text)");
  expect((await texts(page, ".decode-exact b")).flatMap(numbersIn)[1]).toBeLessThan(5e-6);
  await change(page, { zeroToken: "2" });
  await isRead(page);
  await seen(page, ">>> .decode-note ::-p-text(Blanked tokens and forbidden links)");
  expectNear(await row(page), decoding.map(3, 4).data);
  expect((await texts(page, ".decode-exact b")).flatMap(numbersIn)[1]).toBeLessThan(5e-6);
  await shoot(page, "decode-changed");
  for (const of of [decoding, whole]) of.dispose();
});

test("the model goes on with its likeliest tokens, which the reader puts into the text", async () => {
  const page = await views.open([{ model: "tiny", text: kText, view: "decode", layer: 3, head: 4, theme: "dark" }], phone);
  const decoding = views.tiny.startDecoding();
  let { logits } = decoding.step(kText);
  const ids = Array.from({ length: 4 }, () => {
    const id = logits.data.indexOf(Math.max(...logits.data));
    ({ logits } = decoding.step([id]));
    return id;
  });
  const pieces = views.tiny.attend([...views.tiny.attend(kText).ids, ...ids]).tokens.slice(-4);
  await isRead(page);
  for (const count of [1, 2]) {
    await page.click("#map >>> [data-go=one]");
    await made(page, count);
  }
  await page.click("#map >>> [data-go=play]");
  await made(page, 4);
  await page.click("#map >>> [data-go=play]");
  expect((await texts(page, ".decode-made")).length).toBeLessThan(34); // it was stopped
  const written = ((await texts(page, ".decode-text"))[0] ?? "").replace("…", "");
  expect(written.startsWith(pieces.join(""))).toBe(true);
  await seen(page, ">>> .decode-exact ::-p-text(differs from that of the whole text)");
  expect((await texts(page, ".decode-exact b")).flatMap(numbersIn)[1]).toBeLessThan(5e-6);
  expect((await texts(page, ".decode-twin td")).some((text) => text === "–")).toBe(false);
  expect(await axe(page)).toEqual([]);
  await shoot(page, "decode-phone");
  await page.click("#map >>> [data-go=put]");
  await made(page, 0);
  expect(await stateOf(page, "text")).toBe(kText + written);
  decoding.dispose();
});

test("grouped heads are bracketed, and a window lets tokens go", async () => {
  const folder = "tests/golden/models/mistral";
  const files = ["config.json", "model.safetensors", "tokenizer.json"];
  const fileOf = (name: string): File => new File([readFileSync(join(root, folder, name))], name);
  const model = await views.engine.loadModel(files.map(fileOf));
  const text = "one two three";
  const { ids } = model.attend(text);
  expect(ids.length).toBeGreaterThan(5);
  const decoding = model.startDecoding();
  for (const id of ids) decoding.step([id]);
  const page = await views.open([{ model: `/${folder}/`, text, view: "decode", layer: 1, head: 3, query: String(ids.length - 1) }]);
  await isRead(page);
  expectNear(await row(page), decoding.map(1, 3).data);
  expect((await texts(page, ".decode-group")).slice(0, 2)).toEqual(["heads 0–1", "heads 2–3"]);
  expect(numbersIn((await texts(page, ".decode-bytes"))[0] ?? "").slice(0, 2)).toEqual([5, 5 * 2 * 2 * 6 * 2 * 4]);
  expect((await texts(page, ".decode-sentence"))[0]).toContain(`${ids.length - 5} of ${ids.length} tokens have left the cache`);
  expect(await page.$$("#map >>> .decode-gone")).toHaveLength(ids.length - 5);
  await shoot(page, "decode-grouped");
  model.dispose();
});

test("a translator's decoder looks at its source, and other models say why they are not decoded", async () => {
  const model = await views.engine.loadModel("tiny-translator");
  const [source, text] = ["The cat sees the dog.", "Le chat voit le chien."];
  const seenBy = model.attend({ source, target: text });
  const page = await views.open([{ model: "tiny-translator", source, text, attention: "cross", view: "decode", layer: 1, head: 2, query: "3" }]);
  await isRead(page);
  expectNear(await row(page), seenBy.map(1, 2, { rows: [3, 4], attention: "cross" }).data);
  await shoot(page, "decode-cross");
  await change(page, { attention: "encoder" });
  await seen(page, ">>> .decode-note ::-p-text(The encoder reads the whole source at once)");
  await change(page, { model: "tiny-bert", attention: "decoder" });
  await seen(page, ">>> .decode-note ::-p-text(cannot be read step by step)");
  expect(await axe(page)).toEqual([]);
  model.dispose();
});
