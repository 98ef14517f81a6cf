// SPDX-License-Identifier: Apache-2.0
/** Heads in numbers through the installed API, here and in a worker: metrics of given maps, and the heads of models ranked. */
import { readFileSync } from "node:fs";
import { load, type AsyncEngine, type AsyncModel, type Engine, type MetricName, type Model, type RankedHead } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unwrap } from "../../wasm/src/module/failures.js";
import { makeMemory } from "../../wasm/src/start/features.js";
import type { ModelHandle, ModuleFactory, RawInput } from "../../wasm/src/module/module.js";
import { bestHead } from "../cards.js";
import { expectClose, expectError, kGolden, kRoot, maxNorm, readSafetensors, tensorOf } from "./support.js";

describe.each([false, true])("worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let model: Model | AsyncModel;
  beforeAll(async () => {
    engine = await load({ worker });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test("constructed maps: what each metric says of a perfect head, and of one that looks everywhere alike", async () => {
    const ids = [5, 6, 7, 8, 5, 6, 7, 8];
    const length = ids.length;
    const mapOf = (cell: (i: number, j: number) => number): number[] =>
      Array.from({ length: length * length }, (_, at) => cell(Math.floor(at / length), at % length));
    const at = (place: (i: number) => number): number[] => mapOf((i, j) => Number(j === Math.max(0, place(i))));
    const heads = [
      at((i) => i - 1),
      at((i) => i - 3),
      at((i) => i - 4),
      mapOf((i, j) => j <= i ? 1 / (i + 1) : 0),
    ];
    const weights = { data: Float32Array.from(heads.flat()), shape: [1, heads.length, length, length] };
    const options = { isCausal: true, tokens: ids };
    const [previous, induction, duplicate, uniform] = await engine.headMetrics(weights, options);
    expect(previous).toMatchObject({ previous: 1, induction: 0, duplicate: 0, entropy: 0, sharpness: 1 });
    expect(previous?.distance).toBe(7 / 8);
    expect(induction).toMatchObject({ induction: 1, duplicate: 0, previous: 1 / 7 });
    expect(duplicate).toMatchObject({ duplicate: 1, induction: 0 });
    const harmonic = (f: (n: number) => number): number =>
      Array.from({ length }, (_, i) => f(i + 1)).reduce((a, b) => a + b) / length;
    expect(uniform?.entropy).toBeCloseTo(harmonic(Math.log), 6);
    expect(uniform?.entropyUniform).toBeCloseTo(harmonic(Math.log), 12);
    expect(uniform?.entropyNormalized).toBeCloseTo(1, 6);
    expect(uniform?.sharpness).toBeCloseTo(harmonic((n) => 1 / n), 6);
    expect(uniform?.sink).toBeCloseTo(harmonic((n) => 1 / n), 6);
    expect(uniform?.special).toBeNull();
  });

  test("every metric is named with its formula and its source", async () => {
    const metrics = await engine.metrics();
    const scores = (await engine.headMetrics({ data: [1], shape: [1, 1] }))[0] ?? {};
    const ofMaps = metrics.filter(({ needs }) => !needs.includes("model"));
    expect(ofMaps.map(({ name }) => name).sort()).toEqual(Object.keys(scores).sort());
    expect(metrics.length - ofMaps.length).toBe(7);
    for (const { formula, source } of metrics) expect([formula.length > 3, source.length > 3]).toEqual([true, true]);
  });

  describe("rankHeads", () => {
    const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
    const ids = tensorOf(golden, "repeats");
    const width = ids.shape[1] ?? 0;
    const row = (i: number): number[] => [...ids.data.subarray(i * width, (i + 1) * width)];
    const rows = Array.from({ length: ids.shape[0] ?? 0 }, (_, i) => row(i));
    const byPlace = <M extends MetricName>(heads: readonly RankedHead<M>[]): RankedHead<M>[] =>
      [...heads].sort((a, b) => a.layer - b.layer || a.head - b.head);

    test("PyTorch's scores of the built-in model's heads, ranked", async () => {
      const named = {
        previous: "previous", induction: "induction", entropyNormalized: "entropy_normalized", sharpness: "sharpness",
        distance: "distance", sink: "sink",
      } as const;
      const metrics = Object.keys(named) as (keyof typeof named)[];
      const heads = await model.rankHeads(rows, { metrics });
      expect([heads[0]?.layer, heads[0]?.head]).toEqual(bestHead("previous token"));
      expect(heads[0]?.scores.previous).toMatchObject({ texts: 16, nValid: 16 * 64 });
      const means = heads.map(({ scores }) => scores.previous.mean ?? NaN);
      expect(means).toEqual([...means].sort((a, b) => b - a));
      for (const name of metrics) {
        const expected = tensorOf(golden, named[name]);
        const got = byPlace(heads).map(({ scores }) => scores[name].mean ?? NaN);
        // Weights differ by at most 2e-5; a mean of as many, weighted by distances up to 64.
        const tolerance = 2e-5 * Math.max(1, maxNorm(expected.data));
        expectClose(name, { data: got, shape: expected.shape }, expected, tolerance);
      }
      const [worst] = await model.rankHeads(rows.slice(0, 2), { metrics: ["previous"], ascending: true });
      expect(worst?.scores.previous.mean).toBeLessThan(0.01);
    });

    test("what is lost without a head: the previous-token head costs most, of texts that repeat", async () => {
      const heads = await model.rankHeads(rows.slice(0, 1), { metrics: ["ablationLoss", "outputChange"] });
      expect(heads).toHaveLength(model.info.layers * model.info.heads);
      expect(heads[0]?.scores.ablationLoss.mean).toBeGreaterThan(0.5);
      for (const { scores } of heads) {
        expect(scores.outputChange.mean).toBeGreaterThan(0);
        expect(Number.isFinite(scores.ablationLoss.mean)).toBe(true);
      }
    });

    test("texts and pictures; metrics without a value are null, and their heads come last", async () => {
      const [head] = await model.rankHeads(["A text without any repeated word."], { metrics: ["induction", "self"] });
      expect(head?.scores).toMatchObject({ induction: { mean: null, texts: 0, nValid: 0 }, self: { texts: 1 } });
      const vit = await engine.loadModel(new URL(`file://${kGolden}/models/vit/`));
      const { image } = vit.info;
      const side = image?.size ?? 0;
      const pixels = { data: new Uint8ClampedArray(side * side * 4).fill(127), width: side, height: side };
      const heads = await vit.rankHeads([pixels, pixels], { metrics: ["patchDistance"] });
      expect(heads[0]?.scores.patchDistance.texts).toBe(2);
      expect(heads[0]?.scores.patchDistance.mean).toBeGreaterThan(0);
      vit.dispose();
    });

    test.each(["tiny", "tests/golden/models/gpt2", "tests/golden/models/llama"])("copying is what circuits have it by the weights of %s", async (source) => {
      const given = await engine.loadModel(source);
      const { heads, layers } = given.info;
      const ranked = await given.rankHeads([[1, 2, 3]], { metrics: ["copying"] });
      const tables = { embedding: await given.embedding(), unembedding: await given.unembedding() };
      for (let layer = 0; layer < layers; ++layer) {
        const { state, norm } = await given.layerWeights(layer);
        const options = { numHeads: heads, numKvHeads: given.info.kvHeads, norm, ...tables };
        const circuits = await engine.circuits(state, options);
        const scores = ranked.filter((one) => one.layer === layer).sort((a, b) => a.head - b.head);
        expect(scores).toHaveLength(heads);
        scores.forEach(({ scores: { copying } }, head) => {
          expect(copying.mean).not.toBeNull();
          expect(circuits[head]?.fullOv?.copyingScore).toBeCloseTo(copying.mean ?? NaN, 5);
        });
      }
      given.dispose();
    });

    test("special tokens are those that are named", async () => {
      const texts = ["The cat sat on the mat."];
      const [first] = await model.rankHeads(texts, { metrics: ["special", "sink"], specialTokens: [rows[0]?.[0] ?? -1] });
      expect(first?.scores.special.mean).toBeCloseTo(first?.scores.sink.mean ?? NaN, 6);
    });

    test("progress, after each head where no worker is between, while other things have their turn", async () => {
      const done: number[] = [];
      let turns = 0;
      const timer = setInterval(() => { ++turns; }, 1);
      const texts = Array.from({ length: 12 }, () => rows).flat();
      await model.rankHeads(texts, { metrics: ["entropy"], onProgress: (part) => done.push(part) });
      clearInterval(timer);
      expect(turns).toBeGreaterThan(1);
      if (worker) expect(done.length).toBeGreaterThan(1);
      else expect(done).toHaveLength(texts.length * 32);
      expect(done).toEqual([...done].sort((a, b) => a - b));
      expect(done.at(-1)).toBe(1);
    });

    test("aborted before, from progress, and from outside; the model goes on", async () => {
      await expectError(() => model.rankHeads(rows, { signal: AbortSignal.abort() }), "aborted", /rankHeads was aborted/);
      const abort = new AbortController();
      const many = Array.from({ length: 50 }, () => rows).flat();
      const onProgress = (part: number): void => { if (part > 0.001) abort.abort(); };
      await expectError(() => model.rankHeads(many, { signal: abort.signal, onProgress }), "aborted", /rankHeads was aborted/);
      await expectError(() => model.rankHeads(many, { signal: AbortSignal.timeout(50) }), "aborted", /rankHeads was aborted/);
      expect(await model.rankHeads(rows.slice(0, 1))).toHaveLength(32);
    });

    test.each([0, 0.5, 1])("what onProgress throws at %f is what the call rejects with; the model goes on", async (part) => {
      const mine = new Error("mine");
      let calls = 0;
      const onProgress = (done: number): void => {
        if (done < part) return;
        ++calls;
        throw mine;
      };
      const ranking = model.rankHeads(rows, { metrics: ["previous"], onProgress });
      expect(await ranking.catch((error: unknown) => error)).toBe(mine);
      expect(calls).toBe(1);
      expect(await model.rankHeads(rows.slice(0, 1), { metrics: ["previous"] })).toHaveLength(32);
    });

    test("disposed meanwhile", async () => {
      const other = await engine.loadModel("tiny");
      const many = Array.from({ length: 50 }, () => rows).flat();
      const ranking = expectError(() => other.rankHeads(many), "disposed", /was disposed/);
      setTimeout(() => { other.dispose(); }, 20);
      await ranking;
    });

    test("inputs and options that are wrong", async () => {
      const wrong = (inputs: unknown, options: unknown) => () => model.rankHeads(inputs as string[], options as object);
      await expectError(wrong("a text", {}), "dtype", 'inputs is "a text", expected an array');
      await expectError(wrong([], {}), "dtype", "inputs is [], expected an array");
      await expectError(wrong(["one", []], {}), "value", /inputs\[1\]: .*expected 1 to/);
      await expectError(wrong(["one", [99999]], {}), "value", /inputs\[1\]: text: id 0 is 99999/);
      await expectError(wrong(["one", null], {}), "dtype", /inputs\[1\]: text is null/);
      await expectError(wrong(["one"], { metric: ["self"] }), "option", 'unknown option "metric"; did you mean metrics? Expected one of attention, metrics');
      await expectError(wrong(["one"], { metrics: ["selfish"] }), "option", 'metrics is ["selfish"], expected a list of self');
      await expectError(wrong(["one"], { metrics: [] }), "option", "metrics is []");
      await expectError(wrong(["one"], { ascending: 1 }), "option", "ascending is 1, expected a boolean");
      await expectError(wrong(["one"], { specialTokens: [-1] }), "option", "specialTokens is [-1]");
      await expectError(wrong(["one"], { onProgress: 1 }), "option", "onProgress is 1, expected a function");
      await expectError(wrong(["one"], { signal: 1 }), "option", "signal is 1, expected an AbortSignal");
    });
  });
});

/** A model of the module itself, without the API, which ends the ranking when a text is refused. */
async function rawModel(): Promise<ModelHandle> {
  const { default: create } = await import(`${kRoot}build/wasm/headlens-simd.mjs`) as { default: ModuleFactory };
  const code = await WebAssembly.compile(readFileSync(`${kRoot}build/wasm/headlens-simd.wasm`));
  const module = await create({
    wasmMemory: makeMemory(true),
    instantiateWasm(imports, done) {
      void WebAssembly.instantiate(code, imports).then((instance) => { done(instance, code); });
      return {};
    },
  });
  const model = unwrap(module.createModel(readFileSync(`${kRoot}web/models/tiny/config.json`, "utf8"), 2 ** 30));
  const weights = readFileSync(`${kRoot}web/models/tiny/model.safetensors`);
  const file = unwrap(model.beginFile(weights.length));
  for (let at = 0; at < weights.length;) {
    const next = unwrap(model.next(file));
    next.set(weights.subarray(at, at + next.length));
    unwrap(model.advance(file, next.length));
    at += next.length;
  }
  unwrap(model.build());
  return model;
}

test("a text that is refused leaves the one under way", async () => {
  const model = await rawModel();
  const ids = Array.from({ length: 200 }, (_, i) => (i * 37) % 300 + 5);
  const inputs = (tokens: number[]): RawInput[] => [{ name: "ids", dtype: "i32", shape: [tokens.length], data: Int32Array.from(tokens) }];
  const score = (interrupt: boolean): unknown => {
    const finder = unwrap(model.findHeads('{ "metrics": ["duplicate", "induction_text", "ablation_loss"] }', []));
    unwrap(finder.begin(inputs(ids)));
    for (let head = 0; unwrap(finder.next()); ++head) {
      if (!interrupt || head % 7 !== 0) continue;
      expect(() => unwrap(finder.begin(inputs(ids.map(() => 1e6))))).toThrow(/1000000/);
    }
    const heads = unwrap(finder.heads());
    finder.delete();
    return heads;
  };
  expect(score(true)).toEqual(score(false));
  model.delete();
});
