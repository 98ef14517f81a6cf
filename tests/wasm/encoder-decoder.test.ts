// SPDX-License-Identifier: Apache-2.0
/** Encoder–decoders against the numbers of the transformers library, in this thread and in a worker. */
import { File } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import {
  type AsyncEngine, type AsyncModel, type AsyncModelAttention, type AttendOptions, type Engine, type ErrorCode,
  type HeadPatch, load, type Model, type ModelAttention, type ModelSource, type PatchSource, type SourceAndTarget,
  type Tensor,
} from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  expectClose, expectError, type FileTensor, kEpsilon, kGolden, maxNorm, readSafetensors, type Safetensors, tensorOf,
} from "./support.js";

const kFolder = `${kGolden}/encoder_decoders`;
const kParts = ["encoder", "decoder", "cross"] as const;

/** A vocabulary of words, whose texts end with "</s>". */
const kTokenizer = JSON.stringify({
  version: "1.0", truncation: null, padding: null, normalizer: null, decoder: null,
  added_tokens: [{ id: 1, content: "</s>", single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }],
  pre_tokenizer: { type: "Whitespace" },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "</s>", type_id: 0 } }],
    pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
    special_tokens: { "</s>": { id: "</s>", ids: [1], tokens: ["</s>"] } },
  },
  model: { type: "WordLevel", vocab: { "<unk>": 0, "</s>": 1, the: 2, cat: 3, sleeps: 4, le: 5, chat: 6, dort: 7 }, unk_token: "<unk>" },
});

function filesOf(name: string): ModelSource {
  const read = ["config.json", "model.safetensors"].map((file) => new File([readFileSync(`${kFolder}/${name}/${file}`)], file));
  return [...read, new File([kTokenizer], "tokenizer.json")] as never; // Node's File lacks what only browsers give
}

interface Golden {
  readonly file: Safetensors;
  readonly input: SourceAndTarget;
  readonly options: AttendOptions;
  readonly tolerance: number;
}

function goldenOf(name: string): Golden {
  const file = readSafetensors(`${kFolder}/${name}/expected.safetensors`);
  const padding = file.tensors.get("padding");
  return {
    file, input: { source: [...tensorOf(file, "source_ids").data], target: [...tensorOf(file, "target_ids").data] },
    options: padding ? { sourcePaddingMask: Array.from(padding.data, (value) => value === 1) } : {},
    tolerance: 128 * kEpsilon * maxNorm(tensorOf(file, "decoder.hidden").data as Float32Array),
  };
}

/** One [rows, columns] of a tensor [layers, heads, rows, columns]. */
function mapOf({ data, shape }: FileTensor, layer: number, head: number): Tensor {
  const [, heads = 0, rows = 0, columns = 0] = shape, size = rows * columns, at = (layer * heads + head) * size;
  return { data: Float32Array.from(data.subarray(at, at + size)), shape: [rows, columns] };
}

/** The largest weight of each row. */
function largestOf({ data, shape: [rows = 0, columns = 0] }: Tensor): number[] {
  return Array.from({ length: rows }, (_, row) => Math.max(...data.subarray(row * columns, (row + 1) * columns)));
}

const floats = ({ data, shape }: FileTensor): Tensor => ({ data: Float32Array.from(data), shape });

async function expectMaps(model: Model | AsyncModel, { file, input, options, tolerance }: Golden): Promise<void> {
  const seen = await model.attend(input, options);
  for (const attention of kParts) {
    const weights = tensorOf(file, `${attention}.weights`), [layers = 0, heads = 0, rows = 0, columns = 0] = weights.shape;
    for (let layer = 0; layer < layers; ++layer) {
      for (let head = 0; head < heads; ++head) {
        const expected = mapOf(weights, layer, head), what = `${attention} ${layer}.${head}`;
        expectClose(what, await seen.map(layer, head, { attention }), expected, tolerance);
        const { largest } = await seen.rowSummaries(layer, head, { attention });
        const most = largestOf(expected);
        expectClose(`largest of ${what}`, largest, { data: Float32Array.from(most), shape: [rows] }, tolerance);
      }
      expect((await seen.overview(layer, { attention })).maps.shape).toEqual([heads, rows, columns]);
    }
    expect((await seen.allPixels({ attention })).map((row) => row.map(({ width, height }) => [width, height])))
      .toEqual(Array.from({ length: layers }, () => Array.from({ length: heads }, () => [columns, rows])));
  }
  expect(await seen.map(0, 0)).toEqual(await seen.map(0, 0, { attention: "decoder" }));
  expect([seen.ids, seen.sourceIds]).toEqual([input.target, input.source]);
  const logits = floats(tensorOf(file, "logits"));
  expectClose("logits", await seen.logits(), logits, 64 * kEpsilon * maxNorm(logits.data));
}

async function expectDecoding(model: Model | AsyncModel, { file, input, options, tolerance }: Golden): Promise<void> {
  if (options.sourcePaddingMask) return; // a text has no padding
  const decoding = await model.startDecoding({ source: input.source });
  const cross = tensorOf(file, "cross.weights"), self = tensorOf(file, "decoder.weights"), logits = tensorOf(file, "logits");
  const [, , length = 0, keys = 0] = cross.shape, width = logits.shape[1] as number;
  for (let t = 0; t < length; ++t) {
    const step = await decoding.step([input.target[t] as number]);
    const row = (weights: FileTensor, count: number): Tensor =>
      ({ data: mapOf(weights, 1, 2).data.slice(t * (weights.shape[3] as number)).slice(0, count), shape: [1, count] });
    expectClose(`cross at ${t}`, await decoding.map(1, 2, { attention: "cross" }), row(cross, keys), tolerance);
    expectClose(`own at ${t}`, await decoding.map(1, 2), row(self, t + 1), tolerance);
    const expected = { data: Float32Array.from(logits.data.subarray(t * width, (t + 1) * width)), shape: [width] };
    expectClose(`logits at ${t}`, step.logits, expected, 64 * kEpsilon * maxNorm(logits.data as Float32Array));
  }
}

/** The width of a head, and the number that multiplies its scores. */
function headOf({ info }: Model | AsyncModel, attention: (typeof kParts)[number]): { width: number; scale: number } {
  if (attention !== "encoder") return { width: info.headDim, scale: info.scales[0] ?? NaN };
  return { width: info.encoder?.headDim ?? NaN, scale: info.encoder?.scale ?? NaN };
}

/** One row of one head in a tensor [heads, T, d]. */
function rowOf({ data, shape: [, count = 0, width = 0] }: Tensor, head: number, row: number): number[] {
  const at = (head * count + row) * width;
  return [...data.subarray(at, at + width)];
}

/** Expects queries and keys to make the scores of each attention, and values what its heads give. */
async function expectVectors(model: Model | AsyncModel, { file, input, options }: Golden): Promise<void> {
  const from = await model.attend(input, { ...options, keepParts: true, keepValues: true });
  for (const attention of kParts) {
    const [layers = 0, heads = 0, rows = 0, columns = 0] = tensorOf(file, `${attention}.weights`).shape;
    const { width, scale } = headOf(model, attention), layer = layers - 1, query = rows - 1, of = { attention };
    const q = await from.queries(layer, of), k = await from.keys(layer, of), v = await from.values(layer, of);
    const ofKeys = [heads, columns, width];
    expect([q.shape, k.shape, v.shape]).toEqual([[heads, rows, width], ofKeys, ofKeys]);
    for (let head = 0; head < heads; ++head) {
      const { scores, steps } = await from.explain({ layer, head, query, ...of });
      for (let key = 0; key < columns; ++key) {
        const mine = rowOf(q, head, query), theirs = rowOf(k, head, key);
        const terms = mine.map((x, i) => scale * x * (theirs[i] ?? NaN));
        expectSum(`score ${attention} ${head}`, terms, scores.data[key] as number);
      }
      const { output, ...place } = await patchOf(model, from, { layer, head, positions: [query], ...of });
      expect(place).toEqual({ layer, head, positions: [query], attention });
      output.data.forEach((value, i) => {
        const terms = Array.from(steps.weights.data, (weight, key) => weight * (rowOf(v, head, key)[i] ?? NaN));
        expectSum(`output ${attention} ${head}`, terms, value);
      });
    }
  }
  expect(await from.queries(0)).toEqual(await from.queries(0, { attention: "decoder" }));
}

function patchOf(
  model: Model | AsyncModel, from: ModelAttention | AsyncModelAttention, place: Omit<PatchSource<unknown>, "from">,
): Promise<HeadPatch> {
  return Promise.resolve((model as AsyncModel).patch({ from: from as AsyncModelAttention, ...place }));
}

const kMasks = { encoder: "encoderHeadMask", decoder: "headMask", cross: "crossHeadMask" } as const;

/** Expects patches of a head by another input to do what they say: zeros are a silent head, and its own outputs nothing. */
async function expectPatches(model: Model | AsyncModel, { file, input, options }: Golden): Promise<void> {
  const keep = { ...options, keepParts: true }, plain = await model.attend(input, keep);
  for (const attention of kParts) {
    const [layers = 0, heads = 0] = tensorOf(file, `${attention}.weights`).shape;
    const factors = { data: new Float32Array(layers * heads).fill(1), shape: [layers, heads] };
    factors.data[heads + 2] = 0; // layer 1, head 2
    const silent = await model.attend(input, { ...keep, [kMasks[attention]]: factors });
    const own = await patchOf(model, plain, { layer: 1, head: 2, attention });
    const zeros = await patchOf(model, silent, { layer: 1, head: 2, attention });
    expect(zeros.output.data.every((value) => value === 0)).toBe(true);
    const patched = await plain.again({ keepParts: true, patches: [zeros] }), logits = await silent.logits();
    expect((await patched.logits()).data).toEqual(logits.data);
    expect((await plain.logits()).data).not.toEqual(logits.data);
    const same = await patched.again({ keepParts: true, patches: [own] });
    expect((await same.logits()).data).toEqual((await plain.logits()).data);
    const both = await patched.again({ patches: [own, zeros] });
    expect((await both.logits()).data, "the last one holds").toEqual(logits.data);
  }
}

/** Expects the maps of each attention to differ between two inputs by what a difference says. */
async function expectDifferences(
  engine: Engine | AsyncEngine, model: Model | AsyncModel, { input }: Golden,
): Promise<void> {
  const source = (input.source as number[]).filter((_, i) => i !== 1), target = (input.target as number[]).slice(0, -1);
  const a = await model.attend(input), b = await model.attend({ source, target });
  const difference = await (engine as AsyncEngine).difference(a as AsyncModelAttention, b as AsyncModelAttention);
  const { pairs, sourcePairs = [] } = difference;
  expect([pairs.length, sourcePairs.length]).toEqual([target.length, source.length]);
  for (const attention of kParts) {
    const rows = attention === "encoder" ? sourcePairs : pairs, columns = attention === "decoder" ? pairs : sourcePairs;
    const of = { attention }, [ofA, ofB] = [await a.map(1, 2, of), await b.map(1, 2, of)];
    const found = await difference.map(1, 2, of);
    expect(found.shape).toEqual([rows.length, columns.length]);
    const at = ({ data, shape: [, width = 0] }: Tensor, row: number, column: number): number =>
      data[row * width + column] as number;
    const expected = rows.flatMap(([rowA, rowB]) =>
      columns.map(([colA, colB]) => at(ofB, rowB, colB) - at(ofA, rowA, colA)));
    expectClose(`difference of ${attention}`, found, { data: Float32Array.from(expected), shape: found.shape }, 1e-5);
    // A row is rounded otherwise when other rows are computed with it.
    const some = { data: found.data.slice(columns.length, 3 * columns.length), shape: [2, columns.length] };
    expectClose(`rows of ${attention}`, await difference.map(1, 2, { ...of, rows: [1, 3] }), some, 1e-5);
  }
}

/** Expects steps with factors of heads and another normaliser to give the numbers of a run of the whole target. */
async function expectChangedSteps(model: Model | AsyncModel, { file, input, options }: Golden): Promise<void> {
  if (options.sourcePaddingMask) return; // a text has no padding
  const factorsOf = (attention: (typeof kParts)[number]): Tensor => {
    const [layers = 0, heads = 0] = tensorOf(file, `${attention}.weights`).shape;
    const data = Float32Array.from({ length: layers * heads }, (_, i) => (i === 1 ? 0 : 1 + (i % 3) / 4));
    return { data, shape: [layers, heads] };
  };
  const changes = {
    headMask: factorsOf("decoder"), crossHeadMask: factorsOf("cross"), encoderHeadMask: factorsOf("encoder"),
    temperature: 0.5, normalizer: "entmax15" as const,
  };
  const whole = await model.attend(input, changes), { data, shape: [length = 0, width = 0] } = await whole.logits();
  const decoding = await model.startDecoding({ source: input.source, ...changes });
  for (let t = 0; t < length; ++t) {
    const { logits } = await decoding.step([(input.target as number[])[t] as number]);
    const expected = { data: data.slice(t * width, (t + 1) * width), shape: [width] };
    expectClose(`logits at ${t}`, logits, expected, 128 * kEpsilon * maxNorm(data));
    const cross = { attention: "cross" } as const;
    expectClose(`cross at ${t}`, await decoding.map(1, 2, cross), await whole.map(1, 2, { rows: [t, t + 1], ...cross }), 1e-5);
    expectClose(`own at ${t}`, await decoding.map(1, 2), await whole.map(1, 2, { rows: [t, t + 1], cols: [0, t + 1] }), 1e-5);
  }
}

const sumOf = (numbers: Iterable<number>): number => [...numbers].reduce((sum, number) => sum + number, 0);

/** Expects terms to sum to what they explain, but for rounding. */
function expectSum(what: string, terms: Iterable<number>, expected: number): void {
  const all = [...terms], size = Math.max(1, sumOf(all.map(Math.abs)));
  expect(Math.abs(sumOf(all) - expected), what).toBeLessThanOrEqual(1e-5 * size);
}

async function expectExplained(model: Model | AsyncModel, { file, input, options, tolerance }: Golden): Promise<void> {
  const seen = await model.attend(input, { ...options, keepParts: true });
  for (const attention of kParts) {
    const weights = tensorOf(file, `${attention}.weights`), [layers = 0, heads = 0, rows = 0, columns = 0] = weights.shape;
    const layer = layers - 1, query = rows - 1, key = Math.min(columns, rows) - 2;
    for (let head = 0; head < heads; ++head) {
      const at = { layer, head, query, attention };
      const { score, terms, queryParts, keyParts, steps } = await seen.explain({ ...at, key });
      expectSum(`score of ${attention} ${head}`, terms.data, score);
      expect(terms.shape).toEqual([queryParts.length, keyParts.length]);
      const expected = mapOf(weights, layer, head).data[query * columns + key] as number;
      expect(Math.abs(steps.weights - expected)).toBeLessThanOrEqual(tolerance);
      const row = await seen.explain(at);
      expect([row.queryParts, row.keyParts]).toEqual([queryParts, keyParts]);
      for (const side of [row.byQuery, row.byKey]) {
        expectSum("row", side.data.filter((_, i) => i % columns === key), row.scores.data[key] as number);
      }
      const output = await seen.explainOutput(at), sources = await seen.sources({ layer, head, attention });
      expectSum("output", output.terms.data, Math.hypot(...output.written.data));
      expect([sources.queryParts, sources.keyParts, sources.valueParts]).toEqual([queryParts, keyParts, output.parts]);
      const has = (kind: string): boolean[] =>
        [queryParts, keyParts].map((parts) => parts.some((part) => part.kind === kind));
      expect(has("cross")).toEqual([attention !== "encoder", attention === "decoder"]);
      expect(has("head")).toEqual([true, true]);
    }
  }
  await expectLogitsExplained(seen, tensorOf(file, "logits"));
  const ranked = await seen.paths();
  expect(ranked[0]?.later.layer).toBe(1);
}

async function expectLogitsExplained(seen: ModelAttention | AsyncModelAttention, logits: FileTensor): Promise<void> {
  const [rows = 0, width = 0] = logits.shape, position = rows - 1, id = 5;
  const { tokens, parts, terms } = await seen.contributions({ position, tokens: [id] });
  const logit = tokens[0]?.logit ?? NaN, size = Math.max(...terms.data.map(Math.abs));
  expectSum("logit", terms.data, logit);
  expect(Math.abs(logit - (logits.data[position * width + id] as number))).toBeLessThan(1e-4 * size);
  for (const [i, { kind, layer, head }] of parts.entries()) {
    if (layer === undefined || head === undefined) continue;
    const attention = kind === "cross" ? kind : "decoder";
    const { likelier } = await seen.written({ layer, head, position, attention, top: width });
    const all = await seen.logits({ layer, head, attention, rows: [position, position + 1] });
    const said = [likelier.find((token) => token.id === id)?.logit, all.data[id]];
    for (const value of said) expect(Math.abs((value ?? NaN) - (terms.data[i] as number))).toBeLessThan(1e-5 * size);
  }
}

describe.each([false, true])("with worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  beforeAll(async () => {
    engine = await (worker ? load({ worker: true }) : load());
  });
  afterAll(() => engine.dispose());

  test.each(readdirSync(kFolder).sort())("%s is the library's, in all three attentions and step by step", async (name) => {
    const golden = goldenOf(name);
    const model = await engine.loadModel(filesOf(name));
    const [layers, heads] = tensorOf(golden.file, "encoder.weights").shape;
    expect(model.info.encoder).toMatchObject({ layers, heads });
    await expectMaps(model, golden);
    await expectDecoding(model, golden);
    await expectExplained(model, golden);
    model.dispose();
  });

  test.each(readdirSync(kFolder).sort())("%s gives each attention's vectors, takes patches of its heads, and steps with changes", async (name) => {
    const golden = goldenOf(name);
    const model = await engine.loadModel(filesOf(name));
    await expectVectors(model, golden);
    await expectPatches(model, golden);
    await expectDifferences(engine, model, golden);
    await expectChangedSteps(model, golden);
    model.dispose();
  });

  test("heads of each attention can be silenced and ranked", async () => {
    const { file, input, options, tolerance } = goldenOf("t5");
    const model = await engine.loadModel(filesOf("t5"));
    const seen = await model.attend(input, { ...options, keepHidden: true });
    for (const [part, name] of [["encoder", "encoderHeadMask"], ["decoder", "headMask"], ["cross", "crossHeadMask"]] as const) {
      const again = await seen.again({ [name]: floats(tensorOf(file, `${part}.head_mask`)), keepHidden: true });
      expectClose(`without heads of ${part}`, await again.hidden(model.info.layers), floats(tensorOf(file, `${part}.ablated`)), tolerance);
      const ranked = await model.rankHeads([input], { metrics: ["sharpness", "ablationOutput"], attention: part });
      const [layers = 0, heads = 0] = tensorOf(file, `${part}.weights`).shape;
      expect(ranked).toHaveLength(layers * heads);
      const [best] = ranked, weights = mapOf(tensorOf(file, `${part}.weights`), best?.layer ?? -1, best?.head ?? -1);
      const most = largestOf(weights);
      const visible = part === "decoder" ? most.slice(1) : most; // row 0 of a causal map has only one key
      const means = [visible, most].map((list) => list.reduce((sum, value) => sum + value, 0) / list.length);
      expect(means.some((mean) => Math.abs(mean - (best?.scores.sharpness.mean ?? NaN)) < tolerance)).toBe(true);
      expect(best?.scores.ablationOutput.mean).toBeGreaterThan(0);
    }
    model.dispose();
  });

  test("texts become a source with the tokenizer's special tokens, and a target that begins with the start token", async () => {
    const model = await engine.loadModel(filesOf("t5"));
    const seen = await model.attend({ source: "the cat sleeps", target: "le chat" });
    expect(seen.sourceTokens).toEqual(["the", "cat", "sleeps", "</s>"]);
    expect(seen.sourceIds).toEqual([2, 3, 4, 1]);
    expect(seen.ids).toEqual([model.info.encoder?.startToken, 5, 6]);
    expect((await seen.map(0, 0, { attention: "cross" })).shape).toEqual([3, 4]);
    const decoding = await model.startDecoding({ source: "the cat sleeps" });
    expect((await decoding.step("le")).ids).toEqual([model.info.encoder?.startToken, 5]);
    const { ids, logits } = await decoding.step(" chat");
    expect(ids).toEqual([6]);
    const last = await seen.logits({ rows: [2, 3] });
    expectClose("the last logits", logits, { data: last.data, shape: logits.shape }, 64 * kEpsilon * maxNorm(last.data));
    model.dispose();
  });

  test("what does not fit is refused by name", async () => {
    const model = await engine.loadModel(filesOf("t5")), tiny = await engine.loadModel("tiny");
    const pair = { source: [2, 3], target: [0, 5] };
    const refused = (call: () => unknown, code: ErrorCode, says: RegExp): Promise<void> =>
      expectError(call, code, says);
    await refused(() => model.attend("the cat"), "dtype", /input is "the cat", expected \{ source, target \}/);
    await refused(() => model.attend({ source: [2] } as never), "dtype", /source, target/);
    await refused(() => tiny.attend(pair), "dtype", /text is .*expected a string or an array of token ids/);
    await refused(() => model.attend({ source: [2, 99], target: [0] }), "value", /99/);
    await refused(() => model.attend(pair, { sourcePaddingMask: [true] }), "shape", /sourcePaddingMask/);
    await refused(() => tiny.attend([2], { sourcePaddingMask: [true] }), "option", /sourcePaddingMask/);
    const seen = await model.attend(pair), other = await tiny.attend([2]);
    await refused(() => seen.map(0, 0, { attention: "memory" as never }), "option", /attention is "memory", expected one of "decoder", "encoder", "cross"/);
    await refused(() => other.map(0, 0, { attention: "cross" }), "option", /attention is "cross", expected an encoder–decoder/);
    await refused(() => model.rankHeads([pair], { attention: "memory" as never }), "option", /attention/);
    const parts = await model.attend(pair, { keepParts: true });
    const cell = { layer: 0, head: 0, query: 0, attention: "cross" } as const;
    await refused(() => parts.explain({ ...cell, attention: "memory" as never }), "option", /attention is "memory"/);
    await refused(() => parts.explain({ ...cell, query: 2 }), "value", /query is 2, expected a whole number from 0 to 1/);
    await refused(() => parts.explain({ ...cell, key: 2 }), "value", /key is 2/);
    await refused(() => parts.sources({ layer: 2, head: 0, attention: "cross" }), "value", /layer is 2/);
    await refused(() => seen.explain(cell), "option", /keepParts/);
    await refused(() => other.explainOutput(cell), "option", /attention is "cross", expected an encoder–decoder/);
    await refused(() => parts.written({ layer: 0, head: 0, attention: "encoder" as never }), "unsupported", /heads of the encoder add nothing/);
    await refused(() => parts.logits({ attention: "cross" }), "option", /attention needs head/);
    await refused(() => parts.paths({ attention: "cross" } as never), "option", /attention/);
    for (const name of ["queries", "keys", "values"] as const) {
      await refused(() => parts[name](0, { attention: "memory" as never }), "option", /attention is "memory", expected one of/);
      await refused(() => parts[name](9, { attention: "cross" }), "value", /layer is 9/);
      await refused(() => other[name](0, { attention: "cross" }), "option", /attention is "cross", expected an encoder–decoder/);
    }
    await refused(() => parts.values(0, { attention: "cross" }), "option", /keepValues/);
    const patch = await patchOf(model, parts, { layer: 0, head: 0, attention: "encoder" });
    await refused(() => patchOf(model, parts, { layer: 9, head: 0, attention: "encoder" }), "value", /layer is 9/);
    await refused(() => patchOf(model, parts, { layer: 0, head: 0, attention: "memory" as never }), "option", /attention is "memory"/);
    await refused(() => patchOf(model, parts, { layer: 0, head: 0, positions: [2], attention: "encoder" }), "value", /positions/);
    await refused(() => model.attend(pair, { patches: [{ ...patch, attention: "memory" as never }] }), "option", /patches\[0\]\.attention is "memory"/);
    await refused(() => tiny.attend([2], { patches: [patch] }), "option", /patches\[0\]\.attention is "encoder", expected an encoder–decoder/);
    await refused(() => model.attend({ source: [2], target: [0] }, { patches: [patch] }), "value", /token of a patch is 1, expected 0 to 0/);
    const run = seen as AsyncModelAttention;
    const difference = await (engine as AsyncEngine).difference(run, run);
    await refused(() => difference.map(0, 0, { attention: "memory" as never }), "option", /attention is "memory"/);
    await refused(() => difference.map(9, 0, { attention: "encoder" }), "value", /layer is 9/);
    await refused(() => model.startDecoding({ source: [2], encoderHeadMask: { data: [1], shape: [1] } }), "shape", /encoderHeadMask has shape \(1,\)/);
    await refused(() => tiny.rankHeads([[2, 3]], { attention: "cross" }), "option", /attention/);
    await refused(() => model.startDecoding(), "value", /source/);
    await refused(() => tiny.startDecoding({ source: [2] }), "value", /source/);
    const decoding = await model.startDecoding({ source: [2, 3] });
    await decoding.step([0]);
    await refused(() => decoding.map(0, 0, { attention: "encoder" as never }), "option", /attention is "encoder"/);
    model.dispose();
    tiny.dispose();
  });
});
