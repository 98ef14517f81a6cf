// SPDX-License-Identifier: Apache-2.0
/** The numbers of a head: each is the engine's, and they agree with one another. */
import type { Page } from "puppeteer-core";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Model, ModelAttention, Tensor } from "headlens";
import { describe, expect, test } from "vitest";
import { axe, phone, root, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kKept = { keepHidden: true, keepParts: true, keepValues: true };

/** Reads the numbers of texts as the page writes them. */
const numbersIn = (text: string): number[] =>
  [...text.replaceAll("−", "-").matchAll(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g)].map(([number]) => Number(number));

const formula = async (page: Page, step: string): Promise<string> =>
  (await texts(page, `[data-step=${step}] .num-formula`))[0] ?? "";

/** The columns of the table that readers hear, by name. */
async function twin(page: Page): Promise<Map<string, number[]>> {
  const names = await texts(page, ".num-twin thead th");
  const cells = (await texts(page, ".num-twin td")).map((text) => numbersIn(text)[0] ?? NaN);
  const columns = names.slice(1);
  return new Map(columns.map((name, at) => [name, cells.filter((_, cell) => cell % columns.length === at)]));
}

function expectNear(found: readonly number[] | undefined, expected: Iterable<number>, most = 1e-4): void {
  const numbers = [...expected];
  expect(found?.length).toBe(numbers.length);
  numbers.forEach((value, index) => {
    expect(Math.abs((found?.[index] ?? NaN) - value)).toBeLessThan(most * Math.max(1, Math.abs(value)));
  });
}

/** One row of one head in a tensor [heads, T, d]. */
const vector = ({ data, shape: [, count = 0, width = 0] }: Tensor, head: number, row: number): Float32Array =>
  data.subarray((head * count + row) * width, (head * count + row + 1) * width);

interface Pair {
  readonly attention?: "decoder" | "encoder" | "cross";
  readonly layer: number;
  readonly head: number;
  readonly keyHead: number;
  readonly query: number;
  readonly key: number;
}

/** Compares all that is drawn of a pair with calls of the engine. */
async function expectPair(page: Page, model: Model, from: ModelAttention, pair: Pair): Promise<void> {
  const { layer, head, keyHead, query, key, attention } = pair;
  const of = attention ? { attention } : {};
  const q = vector(from.queries(layer, of), head, query);
  const [k, v] = [vector(from.keys(layer, of), keyHead, key), vector(from.values(layer, of), keyHead, key)];
  const { scores, steps } = from.explain({ layer, head, query, ...of });
  const weight = steps.weights.data[key] ?? NaN;
  const found = await twin(page);
  expectNear(found.get("q"), q);
  expectNear(found.get("k"), k);
  expectNear(found.get("q ⊙ k"), q.map((value, dim) => value * (k[dim] ?? NaN)));
  expectNear(found.get("v"), v);
  expectNear(found.get("weight · v"), v.map((value) => value * weight));
  expectNear(found.get("output"), model.patch({ from, layer, head, positions: [query], ...of }).output.data);
  const sum = q.reduce((all, value, dim) => all + value * (k[dim] ?? NaN), 0);
  expectNear(found.get("sum so far")?.slice(-1), [sum]);
  const scaled = numbersIn(await formula(page, "score"));
  expectNear([scaled[0] ?? NaN, scaled.at(-1) ?? NaN], [sum, scores.data[key] ?? NaN]);
  expectNear(numbersIn(await formula(page, "weight")).slice(-1), [weight]);
  expectNear((await texts(page, "[data-step=weight] tbody td:last-child")).flatMap(numbersIn), steps.weights.data);
}

test("the strongest link is worked out in numbers of the engine, to the share of the head in its layer", async () => {
  const page = await views.open([{ model: "tiny", text: kSentence, view: "numbers", layer: 3, head: 4 }]);
  const from = views.tiny.attend(kSentence, { keepHidden: true }).again(kKept);
  await expectPair(page, views.tiny, from, { layer: 3, head: 4, keyHead: 4, query: 6, key: 2 });
  expect(await formula(page, "score")).toMatch(/^Σ = [\d.]+, × 1\/√16 = [\d.]+$/);
  expect(await texts(page, "[data-step]")).toHaveLength(9); // no cap, no bias
  await seen(page, ">>> [data-step=written] tbody");
  const written = Array.from({ length: 8 }, (_, head) => from.explainOutput({ layer: 3, head, query: 6 }).written.data);
  const lengths = written.map((of) => Math.hypot(...of));
  expectNear((await texts(page, "[data-step=written] tbody td:nth-child(2)")).flatMap(numbersIn), lengths);
  const dot = (a: Float32Array, b: Float32Array): number =>
    a.reduce((sum, value, dim) => sum + value * (b[dim] ?? NaN), 0);
  const total = new Float32Array(128).map((_, dim) => written.reduce((sum, of) => sum + (of[dim] ?? NaN), 0));
  const shares = written.map((of) => (100 * dot(of, total)) / dot(total, total));
  (await texts(page, "[data-step=written] tbody td:nth-child(3)")).flatMap(numbersIn)
    .forEach((share, head) => expect(Math.abs(share - (shares[head] ?? NaN))).toBeLessThan(0.051));
  expect(await axe(page)).toEqual([]);
  await shoot(page, "numbers-desktop");
  from.dispose();
});

test("a reader pins another pair by click and by key, opens matrices and frees the pair", async () => {
  const page = await views.open([{ model: "tiny", text: kSentence, view: "numbers", layer: 3, head: 4, query: "7", controls: "full" }]);
  const from = views.tiny.attend(kSentence, { keepHidden: true }).again(kKept);
  await page.click("#map >>> .num-key[data-key='4']");
  expect(await stateOf(page, "key")).toBe("4");
  await seen(page, ">>> [data-step=weight] tr.num-chosen .num-key[data-key='4']");
  await expectPair(page, views.tiny, from, { layer: 3, head: 4, keyHead: 4, query: 7, key: 4 });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  expect(await stateOf(page, "key")).toBe("5");
  await (await seen(page, "#map >>> .num-bars[role=slider]")).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const q = vector(from.queries(3), 4, 7);
  expectNear(numbersIn(await formula(page, "query")).slice(1), [q[1] ?? NaN]);
  for (const name of ["queries", "maskedScores", "weights", "outputs"]) {
    await page.click(`#map >>> [data-matrix=${name}]`);
    await seen(page, `>>> .num-step:has([data-matrix=${name}]) .matrix`);
  }
  const weights = (await texts(page, "[data-step=weight] .matrix td")).slice(1).flatMap(numbersIn);
  expectNear(weights, from.map(3, 4).data, 6e-4);
  const outputs = (await texts(page, "[data-step=output] .matrix td")).slice(1).flatMap(numbersIn);
  expectNear(outputs, views.tiny.patch({ from, layer: 3, head: 4 }).output.data, 6e-4);
  expect(await axe(page)).toEqual([]);
  await shoot(page, "numbers-open");
  await page.focus("#map >>> .num-key[tabindex='0']");
  await page.keyboard.press("Escape");
  expect([await stateOf(page, "query"), await stateOf(page, "key"), await stateOf(page, "view")]).toEqual(["", "", "numbers"]);
  from.dispose();
});

test("what a reader changes in the model changes the numbers", async () => {
  const page = await views.open([{ model: "tiny", text: kSentence, view: "numbers", layer: 3, head: 4, query: "6", key: "2", temperature: 3, theme: "dark" }], phone);
  const from = views.tiny.attend(kSentence, { keepHidden: true }).again({ ...kKept, temperature: 3 });
  await expectPair(page, views.tiny, from, { layer: 3, head: 4, keyHead: 4, query: 6, key: 2 });
  await change(page, { ablate: "3.4" });
  expectNear((await twin(page)).get("output"), new Float32Array(16));
  await seen(page, ">>> [data-step=output] p ::-p-text(silenced)");
  expect(await axe(page)).toEqual([]);
  await shoot(page, "numbers-phone");
  await change(page, { ablate: "", temperature: 1, normalizer: "sparsemax", zeroToken: "2", key: "2", forbid: "1" });
  expect(await formula(page, "weight")).toMatch(/^max\(([\d.]+) − [\d.]+, 0\) = /);
  const [score = NaN, threshold = NaN, , weight = NaN] = numbersIn(await formula(page, "weight"));
  expectNear([Math.max(score - threshold, 0)], [weight], 2e-4);
  expect((await texts(page, "[data-step=mask] p"))[0]).toMatch(/sees 6 of 10 tokens.*forbidden distance 1 are hidden/);
  await seen(page, ">>> [data-step=value] p ::-p-text(blanked)");
  await seen(page, ">>> [data-step=written] tbody"); // also where values are blanked
  expectNear((await twin(page)).get("v"), new Float32Array(16));
  from.dispose();
});

describe("models of other families", () => {
  const filesOf = (folder: string): File[] => ["config.json", "model.safetensors", "tokenizer.json"]
    .map((name) => new File([readFileSync(join(root, folder, name))], name));

  test("a model with a soft cap, a window and grouped heads shows each of them", async () => {
    const folder = "tests/golden/models/gemma2";
    const model = await views.engine.loadModel(filesOf(folder));
    const text = "a b c d e f g h";
    const from = model.attend(text, { keepHidden: true }).again(kKept);
    const query = from.tokens.length - 1;
    expect(query).toBeGreaterThan(5);
    const page = await views.open([{ model: `/${folder}/`, text, view: "numbers", layer: 0, head: 3, query: String(query), key: String(query - 1) }]);
    await expectPair(page, model, from, { layer: 0, head: 3, keyHead: 1, query, key: query - 1 });
    expect((await texts(page, "[data-step=key] p"))[0]).toContain("Head 3 reads key/value head 1, together with head 2.");
    expect(await formula(page, "score")).toContain("× 1/√9 =");
    const { score, steps } = from.explain({ layer: 0, head: 3, query, key: query - 1 });
    expectNear(numbersIn(await formula(page, "cap")), [score, steps.cappedScores]);
    expect((await texts(page, "[data-step=mask] p"))[0]).toContain("sees 5 of");
    await change(page, { key: "0" });
    expect(await formula(page, "mask")).toContain("→ −∞");
    model.dispose();
  });

  test("all attentions of an encoder–decoder begin with q and k", async () => {
    const model = await views.engine.loadModel("tiny-translator");
    const [source, target] = ["The cat sees the dog.", "Le chat voit le chien."];
    const from = model.attend({ source, target }, kKept);
    const base = { model: "tiny-translator", source, text: target, view: "numbers", layer: 1, head: 2, query: "3", key: "2" } as const;
    const page = await views.open([{ ...base, attention: "cross" }]);
    const pair = { layer: 1, head: 2, keyHead: 2, query: 3, key: 2 };
    await expectPair(page, model, from, { ...pair, attention: "cross" });
    expect(await formula(page, "score")).toContain(`× 1/√${model.info.headDim} =`);
    await seen(page, ">>> [data-step=written] tbody");
    await page.click("#map >>> [data-matrix=keys]");
    await seen(page, ">>> .num-step:has([data-matrix=keys]) .matrix");
    const keys = from.keys(1, { attention: "cross" }), [, count = 0, width = 0] = keys.shape;
    expect((await texts(page, "[data-step=key] .matrix td")).slice(1)).toHaveLength(count * width);
    expect(await axe(page)).toEqual([]);
    await shoot(page, "numbers-cross");
    await change(page, { attention: "encoder", query: "1", key: "4" });
    await expectPair(page, model, from, { ...pair, attention: "encoder", query: 1, key: 4 });
    await change(page, { attention: "decoder", query: "3", key: "1" });
    await expectPair(page, model, from, { ...pair, attention: "decoder", query: 3, key: 1 });
    model.dispose();
  });
});
