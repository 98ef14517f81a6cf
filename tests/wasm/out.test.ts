// SPDX-License-Identifier: Apache-2.0
/** Results that go where the caller says: with every call, on the first call and on one that comes again, in the page and in a worker. */
import { load, type AttentionResult, type DecoderLayerResult, type Tensor } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AnyEngine } from "./cases.js";
import { bits, expectError, layerState, random } from "./support.js";

type Results = Partial<Record<string, Tensor>>;
type Call = (out?: object) => AttentionResult | Promise<AttentionResult>;

/** Arrays of the results' lengths that hold something else. */
const stale = (results: Results): Results => Object.fromEntries(Object.entries(results).map(
  ([name, tensor]) => [name, tensor && { data: tensor.data.map(() => 7), shape: [tensor.data.length] }]));

const q = random(1, 1, 2, 6, 8), k = random(2, 1, 2, 6, 8), x = random(3, 6, 8);
const large = random(4, 1, 1, 1030, 8); // its weights are more than 4 MiB: a call that is not kept for the next one

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  let calls: Record<string, Call>;
  beforeAll(async () => {
    engine = await load({ worker });
    const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    await mha.loadStateDict(layerState(5, 8));
    const decoder = await engine.transformerDecoderLayer({ embedDim: 8, numHeads: 2, dimFeedforward: 8 });
    const attention = (name: string): [string, Tensor][] =>
      Object.entries(layerState(6, 8)).map(([key, tensor]) => [`${name}.${key}`, tensor]);
    const rest = ["linear1", "linear2", "norm1", "norm2", "norm3"].flatMap((name): [string, Tensor][] =>
      [[`${name}.weight`, name.startsWith("norm") ? random(7, 8) : random(8, 8, 8)], [`${name}.bias`, random(9, 8)]]);
    await decoder.loadStateDict(Object.fromEntries([...attention("self_attn"), ...attention("multihead_attn"), ...rest]));
    calls = {
      attention: (out) => engine.scaledDotProductAttention(q, k, k, { needWeights: true, stages: ["scores", "lse"], ...out }),
      "a call too large to keep": (out) => engine.scaledDotProductAttention(large, large, large, { needWeights: true, ...out }),
      "a layer": (out) => mha.forward(x, { averageAttnWeights: false, ...out }),
      "a decoder layer": (out): AttentionResult | Promise<DecoderLayerResult> =>
        decoder.forward(x, x, { needWeights: true, stages: ["memoryScores"], ...out }),
    };
  });
  afterAll(() => engine.dispose());

  test.each(["attention", "a call too large to keep", "a layer", "a decoder layer"])(
    "%s writes over the arrays it is given", async (name) => {
      const call = calls[name] as Call;
      const expected = await call();
      for (let i = 0; i < 3; ++i) {
        const out = stale(expected);
        const results: Results = await call({ out });
        expect(bits(results)).toEqual(bits(expected));
        for (const [key, tensor] of Object.entries(results)) {
          if (worker) expect(out[key]?.data.length, `${key} moved`).toBe(0);
          else expect(tensor?.data).toBe(out[key]?.data);
        }
      }
    });

  test("a result can be given back call after call, and what is not named is new", async () => {
    const call = calls.attention as Call;
    const expected = await call();
    let last = await call();
    for (let i = 0; i < 4; ++i) last = await call({ out: last });
    expect(last).toEqual(expected);
    const { output, scores } = await call({ out: { output: stale(expected).output, scores: undefined } });
    expect({ output, scores }).toEqual({ output: expected.output, scores: expected.scores });
  });

  test("over the call's own input", async () => {
    const expected = await engine.scaledDotProductAttention(q, k, k);
    for (let i = 0; i < 3; ++i) {
      const query = structuredClone(q);
      expect(await engine.scaledDotProductAttention(query, k, k, { out: { output: query } })).toEqual(expected);
    }
  });

  test.each([[0], [4]])("a cache's: one that is refused leaves the cache as it was, window %s", async (window) => {
    const rowsOf = ({ data, shape: [b = 1, h = 1, , d = 1] }: Tensor, at: number): Tensor =>
      ({ data: data.slice(at * b * h * d, (at + 1) * b * h * d), shape: [b, h, 1, d] });
    const [cache, fresh] = [await engine.cachedAttention({ window }), await engine.cachedAttention({ window })];
    const floats = (length: number): Tensor => ({ data: new Float32Array(length).fill(7), shape: [length] });
    for (let at = 0; at < 6; ++at) {
      const [query, key] = [rowsOf(q, at), rowsOf(k, at)] as const;
      const before = cache.length;
      for (const out of [{ output: floats(15) }, { lse: floats(2) }, { output: floats(16), weights: floats(99) }]) {
        await expectError(() => cache.forward(query, key, key, { out }), "(shape|option)" as "shape", /out\.(output|lse|weights)/);
        expect(cache.length).toBe(before);
      }
      const expected = await fresh.forward(query, key, key, { needWeights: true });
      const out = { output: floats(16), weights: floats(expected.weights.data.length) };
      const got = await cache.forward(query, key, key, { needWeights: true, out });
      expect(bits(got)).toEqual(bits(expected));
      if (!worker) expect([got.output.data, got.weights.data]).toEqual([out.output.data, out.weights.data]);
      expect(cache.length).toBe(at + 1);
    }
    cache.dispose();
    fresh.dispose();
  });

  test("a layer's cache writes over the last step's results", async () => {
    const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    await mha.loadStateDict(layerState(5, 8));
    const [cache, fresh] = [await mha.startCache(), await mha.startCache()];
    const token = { data: x.data.slice(0, 8), shape: [1, 8] };
    let last = await cache.forward(token);
    const first = await fresh.forward(token);
    expect(bits(last)).toEqual(bits(first));
    last = await cache.forward(token, { out: { output: last.output } });
    expect(bits(last)).toEqual(bits(await fresh.forward(token)));
    mha.dispose();
  });

  test("memory that is shared stays where it is", async () => {
    const expected = await engine.scaledDotProductAttention(q, k, k);
    for (let i = 0; i < 3; ++i) {
      const data = new Float32Array(new SharedArrayBuffer(4 * q.data.length));
      const { output } = await engine.scaledDotProductAttention(q, k, k, { out: { output: { data, shape: q.shape } } });
      expect([...data]).toEqual([...expected.output.data]);
      expect(output).toMatchObject({ shape: q.shape });
      expect(output.data).toEqual(data);
    }
  });

  const floats = (length: number): Tensor => ({ data: new Float32Array(length), shape: [length] });
  const parts = (...ranges: [number, number][]): Tensor[] => {
    const { data } = floats(192);
    return ranges.map(([begin, end]) => ({ data: data.subarray(begin, end), shape: [end - begin] }));
  };
  // Made anew for each call: what has moved to a worker is not there any more.
  test.each<[string, () => unknown, Parameters<typeof expectError>[1], ...RegExp[]]>([
    ["is none", () => 3, "option", /out is 3/, /earlier result/],
    ["is a list", () => [floats(96)], "option", /out is \[Object\]/],
    ["is a tensor", () => floats(96), "dtype", /out\.data is Float32Array/],
    ["has an array", () => ({ output: new Float32Array(96) }), "dtype", /out\.output is Float32Array/, /\{ data, shape \}/],
    ["has other numbers", () => ({ output: { data: new Float64Array(96), shape: [96] } }), "dtype", /out\.output/, /Float64Array/],
    ["is too short", () => ({ output: floats(95) }), "shape", /out\.output\.data has 95 values/, /expected 96 for shape \(1, 2, 6, 8\)/],
    ["is too long", () => ({ output: floats(97) }), "shape", /out\.output\.data has 97 values/],
    ["names what is not asked for", () => ({ weights: floats(72) }), "option", /out\.weights/, /output/],
    ["names nothing", () => ({ toString: floats(96) }), "option", /out\.toString/],
    ["shares memory", () => {
      const [output, weights] = parts([0, 96], [95, 167]);
      return worker ? { output, weights: output } : { output, weights };
    }, "value", /out\.output/, worker ? /part of a larger buffer|shares memory/ : /shares memory with out\.(weights|output)/],
    ["throws", () => ({ get output() { throw new TypeError("not to be read"); } }), "value", /not to be read/],
  ])("out that %s is an error, and the engine lives on", async (_, make, code, ...words) => {
    const call = (given?: object): unknown => engine.scaledDotProductAttention(q, k, k, given);
    const expected = await call();
    for (let i = 0; i < 3; ++i) {
      await expectError(() => call({ out: make() }), code, ...words);
      expect(await call()).toEqual(expected);
    }
    const others = { out: { lse: floats(1) } };
    await expectError(() => engine.scaledDotProductAttention(large, large, large, others), "option", /out\.lse/);
  });
});

test("part of a larger buffer is written in the page, and cannot move to a worker", async () => {
  const whole = new Float32Array(200);
  const out = { output: { data: whole.subarray(50, 146), shape: [96] } };
  const [page, worker] = [await load(), await load({ worker: true })];
  const { output } = page.scaledDotProductAttention(q, k, k, { out });
  const expected = page.scaledDotProductAttention(q, k, k).output.data;
  expect([whole.slice(50, 146), whole[49], whole[146]]).toEqual([expected, 0, 0]);
  expect(output.data).toBe(out.output.data);
  await expectError(() => worker.scaledDotProductAttention(q, k, k, { out }), "value", /out\.output/, /part of a larger buffer/);
  expect(whole).toHaveLength(200);
  page.dispose();
  worker.dispose();
});
