// SPDX-License-Identifier: Apache-2.0
/** A reader does all this to know how a head computes, why it looks there, what it writes, and what happens without it. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { ModelAttention, Tensor } from "headlens";
import { expect, test } from "vitest";
import { root } from "../browser.js";
import { kSentence, numbersIn, type Reader } from "./reader.js";

const kTiny = join(root, "web/models/tiny");
const kOther = "The king saw the queen and she laughed.";
const kKept = { keepHidden: true, keepParts: true, keepValues: true };

function expectNear(found: ArrayLike<number> | undefined, expected: ArrayLike<number>, most = 1e-3): void {
  expect(found?.length).toBe(expected.length);
  Array.from(expected).forEach((value, index) =>
    expect(Math.abs((found?.[index] ?? NaN) - value), `${index}`).toBeLessThan(most * Math.max(1, Math.abs(value))));
}

/** One row of one head in a tensor [heads, T, d]. */
const vector = ({ data, shape: [, count = 0, width = 0] }: Tensor, head: number, row: number): Float32Array =>
  data.subarray((head * count + row) * width, (head * count + row + 1) * width);

export function readReasons(reader: Reader): void {
  /** The numbers of the comparison: A, B and B − A of each key. */
  const cells = async (): Promise<number[]> =>
    (await reader.texts("#map >>> .cmp-table td")).map((text) => numbersIn(text)[0] ?? NaN);
  const shares = (): Promise<string[]> => reader.texts("#next >>> li .unseen");

  test.each([
    ["tiny", 3, 4, "text"], ["tiny-bert", 2, 1, "text"], ["tiny-translator", 1, 0, "source"],
  ] as const)("looks inside the neurons of %s: query, key, their product, and what is handed over", async (name, layer, head, kind) => {
    const [source, text] = kind === "source" ? ["The cat sleeps.", "Le chat dort."] : ["", kSentence];
    const address = new URLSearchParams({ model: name, text, source, layer: String(layer), head: String(head), query: "", key: "" });
    await reader.open(`#${String(address)}`);
    await reader.click("button", "Numbers", "#map");
    await reader.choose("Query", "2 ", "#map");
    await reader.choose("key", "1 ", "#map");
    await reader.drawn();
    const model = await reader.model(name);
    using from = kind === "source" ? model.attend({ source, target: text }, kKept) : model.attend(text, kKept);
    const q = vector(from.queries(layer), head, 2);
    const k = vector(from.keys(layer), head, 1);
    const v = vector(from.values(layer), head, 1);
    const { scores, steps } = from.explain({ layer, head, query: 2, ...(kind === "source" && { attention: "decoder" }) });
    const twin = async (column: string): Promise<number[]> => {
      const names = await reader.texts("#map >>> .num-twin thead th");
      const cells = await reader.texts(`#map >>> .num-twin tbody tr > :nth-child(${names.indexOf(column) + 1})`);
      return cells.flatMap((cell) => numbersIn(cell).slice(0, 1));
    };
    await reader.until(() => twin("k"), (found) => Math.abs((found[0] ?? NaN) - (k[0] ?? NaN)) < 1e-3, "the key's numbers");
    expectNear(await twin("q"), q);
    expectNear(await twin("q ⊙ k"), q.map((value, dim) => value * (k[dim] ?? NaN)));
    expectNear(await twin("weight · v"), v.map((value) => value * (steps.weights.data[1] ?? NaN)));
    const score = await reader.reads("#map >>> [data-step=score] .num-formula", /=/);
    expect(Math.abs((numbersIn(score).at(-1) ?? NaN) - (scores.data[1] ?? NaN))).toBeLessThan(1e-3);
    await (await reader.find("bars", "Dimension", "#map")).focus();
    await reader.press("Home", "ArrowRight");
    const words = await reader.reads("#map >>> [data-step=query] .num-formula", "q[1] =");
    expect(Math.abs((numbersIn(words).at(-1) ?? NaN) - (q[1] ?? NaN))).toBeLessThan(1e-3);
  });

  test("opens the stages of a head as whole matrices: scores, masked scores, softmax weights, outputs", async () => {
    await reader.open();
    await reader.click("button", "Numbers", "#map");
    using from = (await reader.model("tiny")).attend(kSentence, kKept);
    const rows = Array.from({ length: 10 }, (_, query) => from.explain({ layer: 3, head: 4, query }));
    const stages = {
      "all scores": ["score", ({ scores }: (typeof rows)[number]) => scores.data],
      "all masked scores": ["mask", ({ steps }: (typeof rows)[number]) => steps.maskedScores.data],
      "all weights": ["weight", ({ steps }: (typeof rows)[number]) => steps.weights.data],
    } as const;
    for (const [name, [step, of]] of Object.entries(stages)) {
      await reader.click("button", name, "#map");
      const cells = await reader.until(() => reader.texts(`#map >>> [data-step=${step}] .matrix td`), (found) => found.length >= 100, name);
      const expected = rows.flatMap((row) => [...of(row)]);
      cells.slice(-100).forEach((cell, index) => {
        const value = expected[index] ?? NaN;
        if (value === -Infinity) expect(cell).toContain("−∞");
        else expect(Math.abs((numbersIn(cell)[0] ?? NaN) - value), `${name} ${index}: ${cell}`).toBeLessThan(6e-3);
      });
    }
    await reader.click("button", "all outputs", "#map");
    await reader.until(() => reader.texts("#map >>> [data-step=output] .matrix td"), (found) => found.length >= 160, "outputs");
    await reader.reads("#map >>> [data-step=mask]", /‘and’ sees 7 of 10 tokens: itself and earlier ones/);
    await reader.reads("#map >>> [data-step=weight]", "Dropout is off");
  });

  test("asks why a word is looked at: parts that add up to the score, and a comparison with another word", async () => {
    await reader.open();
    await reader.click("button", "Why", "#map");
    using attention = (await reader.model("tiny")).attend(kSentence, { keepParts: true });
    const { score } = attention.explain({ layer: 3, head: 4, query: 6, key: 2 });
    await reader.reads("#map >>> .why-sentence", /^‘and’ looks at ‘queen’ \(99\.5 %\) because .+ meets .+\.$/);
    await reader.reads("#map >>> [part=sum]", `The parts add up to ${score.toFixed(3)} of ${score.toFixed(3)}`);
    const cells = await reader.page.$$eval("#map >>> .why-table:not(.why-keys)", ([table]) =>
      Array.from((table as HTMLTableElement).rows, (row) => Array.from(row.cells, ({ textContent }) => textContent ?? "")));
    const sums = cells.slice(1, -1).map((row) => numbersIn(row.at(-1) ?? "").at(-1) ?? NaN);
    expect(Math.abs(sums.reduce((sum, value) => sum + value, 0) - score)).toBeLessThan(0.05);
    await reader.click("check", "why ‘queen’ rather than", "#map");
    await reader.reads("#map >>> .why-sentence", "‘and’ looks at ‘queen’ (99.5 %) rather than at");
    await reader.choose("The other key", "king", "#map");
    const against = attention.explain({ layer: 3, head: 4, query: 6, key: 2, against: 5 });
    await reader.reads("#map >>> .why-chain", against.score.toFixed(3));
    await reader.page.goBack();
    await reader.page.goBack();
    await reader.reads("#map >>> .why-chain", score.toFixed(3));
  });

  test("reads what a head writes: tokens that it makes likelier and less likely, and from which words it copies", async () => {
    await reader.open();
    await reader.click("button", "Effect", "#map");
    using attention = (await reader.model("tiny")).attend(kSentence, { keepParts: true });
    const { likelier, lessLikely } = attention.written({ layer: 3, head: 4, position: 6, top: 8 });
    const all = [...likelier, ...lessLikely];
    const labels = await reader.until(() => reader.texts("#map >>> .effect-columns .effect-label"), (found) => found.length === 16, "16 tokens");
    expect(labels).toEqual(all.map(({ token }) => token.trim()));
    const values = (await reader.texts("#map >>> .effect-columns .effect-value")).flatMap((text) => numbersIn(text).slice(0, 1));
    values.forEach((value, index) => expect(Math.abs(value - (all[index]?.logit ?? NaN))).toBeLessThan(0.02));
    const { terms } = attention.explainOutput({ layer: 3, head: 4, query: 6 });
    const largest = [...terms.data].sort((a, b) => Math.abs(b) - Math.abs(a));
    const copied = (await reader.texts("#map >>> .effect-copies .effect-value")).flatMap((text) => numbersIn(text).slice(0, 1));
    copied.forEach((value, index) => expect(Math.abs(value - (largest[index] ?? NaN))).toBeLessThan(0.02));
  });

  test("reads the logit lens: what the model would say after each layer", async () => {
    await reader.open();
    await reader.click("button", "Effect", "#map");
    using attention = (await reader.model("tiny")).attend(kSentence, { keepParts: true });
    const lines = await reader.until(() => reader.page.$$eval("#map >>> .effect-lens tbody tr", (rows) =>
      rows.map((row) => Array.from((row).cells, ({ textContent }) => (textContent ?? "").trim()))), ({ length }) => length === 5, "five layers");
    const [answer] = attention.predictions({ position: 6, top: 1 });
    lines.forEach(([, best, , rank], layer) => {
      const all = attention.predictions({ position: 6, top: 2048, ...(layer < 4 && { layer }) });
      expect([best, Number(rank)], `layer ${layer}`).toEqual([all[0]?.token.trim(), all.findIndex(({ id }) => id === answer?.id) + 1]);
    });
  });

  test("silences a head and sees the predictions move, with the difference, and takes it back", async () => {
    await reader.open();
    await reader.reads("#next >>> li .unseen", "‘she’: 98.3 %");
    await reader.click("button", "Effect", "#map");
    await reader.click("button", "Silence this head", "#map");
    await reader.reads("#map >>> .changes", "head 3.4 silenced");
    using before = (await reader.model("tiny")).attend(kSentence);
    const headMask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
    headMask.data[28] = 0;
    using after = before.again({ headMask });
    const probability = (attention: ModelAttention): number =>
      100 * (attention.predictions({ position: 6, top: 2048 }).find(({ token }) => token === " she")?.probability ?? NaN);
    const she = await reader.reads("#next >>> li .unseen", /‘she’: [\d.]+ %, before the changes/);
    const [now = NaN, was = NaN, change = NaN] = numbersIn(/‘she’: ([^|]*)/.exec(she)?.[1] ?? "");
    expect(Math.abs(now - probability(after)), she).toBeLessThan(0.11);
    expect(Math.abs(was - probability(before)), she).toBeLessThan(0.11);
    expect(Math.abs(change - (now - was))).toBeLessThan(0.15);
    await reader.click("button", "Take back: head 3.4 silenced", "#map");
    await reader.until(shares, ([first]) => first === "‘she’: 98.3 %", "the first prediction");
  });

  test("turns the temperature and forbids a diagonal, and the maps and predictions are those of the changed model", async () => {
    await reader.open("#query=&key=");
    await reader.unfold("Settings", "#map");
    await reader.slide("temperature", ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"], "#map");
    await reader.reads("#map >>> .changes", "temperature 2");
    using plain = (await reader.model("tiny")).attend(kSentence);
    const cell = async (expected: number, word: RegExp): Promise<void> => {
      await reader.page.mouse.move(...(await reader.cell(6, 2, 10)));
      const words = await reader.until(async () => (await reader.texts("#map >>> .readout")).join(),
        (text) => word.test(text) && Math.abs((numbersIn(text).at(-1) ?? NaN) - expected) < 1e-3, `${expected}`);
      expect(words).toContain("query ‘and’ → key ‘queen’");
    };
    await cell(plain.again({ temperature: 2 }).map(3, 4).data[62] ?? NaN, /\d$/);
    await reader.click("button", "Take back: temperature 2", "#map");
    await cell(plain.map(3, 4).data[62] ?? NaN, /\d$/);
    await reader.click("check", "no query sees itself", "#map");
    await reader.reads("#map >>> .changes", "no query sees itself");
    await reader.page.mouse.move(...(await reader.cell(5, 5, 10)));
    await reader.reads("#map >>> .readout", "query ‘king’ → key ‘king’: masked");
    await reader.choose("normaliser", "sparsemax", "#map");
    await reader.reads("#map >>> .changes", "sparsemax");
  });

  test("patches a head from another text, and reads what changes", async () => {
    await reader.open();
    await reader.click("button", "Effect", "#map");
    await reader.click("button", "Patch from another text …", "#map");
    await reader.fill("Another text", kOther, "#map");
    await reader.click("button", "Patch", "#map >>> .effect-patch");
    const model = await reader.model("tiny");
    using from = model.attend(kOther, { keepParts: true });
    using before = model.attend(kSentence);
    using after = before.again({ patches: [model.patch({ from, layer: 3, head: 4 })] });
    const [now] = after.predictions({ position: 6, top: 1 });
    await reader.reads("#map >>> .effect-change .effect-title", `head 3.4 gives what it gives in “${kOther}”, at all tokens`);
    await reader.reads("#map >>> .effect-change li .unseen", `${(100 * (now?.probability ?? NaN)).toFixed(1)} %`);
    await reader.click("button", "Remove the patch", "#map");
    await reader.until(() => reader.page.$("#map >>> .effect-change"), (change) => change === null, "no change");
  });

  test("compares two texts, and two heads: A, B and their difference", async () => {
    await reader.open();
    await reader.click("button", "Compare", "#map");
    await reader.click("check", "Another text", "#map");
    await reader.fill("Another text", kOther, "#map");
    const model = await reader.model("tiny");
    const difference = reader.engine.difference(model.attend(kSentence), model.attend(kOther));
    const { data, shape: [, width = 0] } = difference.map(3, 4);
    const row = difference.pairs.findIndex(([a]) => a === 6);
    await reader.until(cells, (found) => found.length === 30 && difference.pairs.every(([at], col) =>
      Math.abs((found[3 * at + 2] ?? NaN) - (data[row * width + col] ?? NaN)) < 1e-3), "two texts");
    difference.dispose();
    await reader.reads("#map >>> .cmp-tops", "in B, at");
    expect((await reader.texts("#map >>> .cmp-figure figcaption")).slice(0, 3)).toEqual(["A this text, 3.4", "B the other text, 3.4", "B − A orange is less, blue is more"]);
    await reader.click("check", "Another head", "#map");
    await reader.fill("Another head", "1.2", "#map");
    await reader.press("Enter");
    using attention = model.attend(kSentence);
    const [one, two] = [attention.map(3, 4).data, attention.map(1, 2).data];
    await reader.until(cells, (found) => found.length === 30 && Array.from({ length: 7 }, (_, col) =>
      Math.abs((found[3 * col + 2] ?? NaN) - ((two[60 + col] ?? NaN) - (one[60 + col] ?? NaN))) < 1e-3).every(Boolean), "the differences of two heads");
  });

  test("compares two models of one vocabulary: a folder with other rotations, and the built-in model", async () => {
    await reader.open();
    const tiny = await reader.model("tiny");
    const folder = mkdtempSync(join(reader.folder, "model-"));
    const config = JSON.parse(readFileSync(join(kTiny, "config.json"), "utf8")) as Record<string, unknown>;
    writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, rope_theta: 500 }));
    const paths = [join(folder, "config.json"), join(kTiny, "model.safetensors"), join(kTiny, "tokenizer.json")];
    await reader.drop(...paths);
    await reader.until(() => reader.texts("#model option:checked"), ([name]) => name?.includes("your files") === true, "the folder");
    await reader.drawn();
    await reader.click("button", "Compare", "#map");
    await reader.click("check", "Another model", "#map");
    await reader.until(() => reader.page.$("#map >>> .cmp-field"), (field) => field !== null, "a field");
    await reader.fill("Another model", "tiny", "#map");
    await reader.press("Enter");
    const changed = await reader.engine.loadModel(paths.map((path) => new File([readFileSync(path)], basename(path))));
    const difference = reader.engine.difference(changed.attend(kSentence), tiny.attend(kSentence));
    const { data } = difference.map(0, 0);
    expect(Math.max(...data), "the two models differ").toBeGreaterThan(0.01);
    await reader.click("button", "and", "#sentence");
    await reader.until(cells, (found) => found.length === 30 && Array.from({ length: 7 }, (_, col) =>
      Math.abs((found[3 * col + 2] ?? NaN) - (data[60 + col] ?? NaN)) < 1e-3).every(Boolean), "the differences of two models");
    difference.dispose();
    changed.dispose();
  });
}
