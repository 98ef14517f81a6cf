// SPDX-License-Identifier: Apache-2.0
/** Decoding step by step gives the numbers of a single pass, here and in a worker. */
import { load, type AsyncEngine, type AttentionOptions, type Engine, type Tensor } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectClose, expectError, kEpsilon, layerState, maxNorm, random } from "./support.js";

const kSteps = [4, 1, 1, 3, 1];
const kLength = 10;

/** Rows [begin, end) of the last dimension but one. */
function rows({ data, shape }: Tensor, begin: number, end: number): Tensor {
  const width = shape.at(-1) ?? 0;
  const length = shape.at(-2) ?? 0;
  const parts = Array.from({ length: data.length / (length * width) }, (_, i) =>
    [...data.subarray((i * length + begin) * width, (i * length + end) * width)]);
  return { data: Float32Array.from(parts.flat()), shape: [...shape.slice(0, -2), end - begin, width] };
}

/** The nearest number with 8 significant bits, ties to even. */
function toBfloat16(x: number): number {
  const [bits = 0] = new Uint32Array(Float32Array.of(x).buffer);
  const odd = (bits >>> 16) & 1;
  return new Float32Array(Uint32Array.of(((bits + 0x7fff + odd) >>> 16 << 16) >>> 0).buffer)[0] ?? 0;
}

function expectRows(got: Tensor, all: Tensor, begin: number, end: number): void {
  expectClose(`rows ${begin} to ${end}`, got, rows(all, begin, end), 16 * kEpsilon * Math.max(1, maxNorm(all.data)));
}

describe.each([false, true])("worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  beforeAll(async () => {
    engine = await load({ worker });
  });
  afterAll(() => engine.dispose());

  const q = random(1, 2, 4, kLength, 8);
  const k = random(2, 2, 2, kLength, 8);
  const v = random(3, 2, 2, kLength, 5);
  const x = random(4, 2, kLength, 16);

  test.each<[string, object]>([
    ["plain", {}],
    ["rotary and ALiBi", { rotary: "half", alibi: true }],
    ["sparsemax", { normalizer: "sparsemax", temperature: 0.5 }],
  ])("cachedAttention, %s: a prefill and single tokens are one causal pass", async (_, more) => {
    const options = { enableGqa: true, ...more };
    const all = await engine.scaledDotProductAttention(q, k, v, { ...options, isCausal: true });
    const cache = await engine.cachedAttention();
    let at = 0;
    for (const n of kSteps) {
      const { output } = await cache.forward(rows(q, at, at + n), rows(k, at, at + n), rows(v, at, at + n), options);
      expectRows(output, all.output, at, at + n);
      at += n;
      expect(cache.length).toBe(at);
    }
    await cache.reset();
    expect(cache.length).toBe(0);
    const { output } = await cache.forward(q, k, v, options);
    expectRows(output, all.output, 0, kLength);
    cache.dispose();
  });

  test("in bfloat16: the numbers of keys and values that were rounded before", async () => {
    const halves = await engine.cachedAttention({ dtype: "bfloat16" });
    const floats = await engine.cachedAttention({ dtype: "float32" });
    const nearest = ({ data, shape }: Tensor): Tensor => ({ data: data.map(toBfloat16), shape });
    let at = 0;
    for (const n of kSteps) {
      const options = { enableGqa: true, needWeights: true } as const;
      const [query, key, value] = [q, k, v].map((x) => rows(x, at, at + n)) as [Tensor, Tensor, Tensor];
      const got = await halves.forward(query, key, value, { ...options, stages: ["presentKey"] });
      const expected = await floats.forward(query, nearest(key), nearest(value), options);
      expect(got.presentKey?.data).toEqual(rows(k, 0, at + n).data.map(toBfloat16));
      expect(got.output.data).toEqual(expected.output.data);
      expect(got.weights?.data).toEqual(expected.weights?.data);
      at += n;
    }
    halves.dispose();
    floats.dispose();
    await expectError(() => engine.cachedAttention({ dtype: "float16" as never }), "option", /dtype is "float16", expected one of "float32", "bfloat16"/);
  });

  test("a window rolls: what lies further back is gone, and the numbers are those of windowLeft", async () => {
    const all = await engine.scaledDotProductAttention(q, k, v, { enableGqa: true, isCausal: true, windowLeft: 2 });
    const cache = await engine.cachedAttention({ window: 3 });
    let at = 0;
    for (const n of kSteps) {
      const { output, weights } = await cache.forward(
        rows(q, at, at + n), rows(k, at, at + n), rows(v, at, at + n), { enableGqa: true, needWeights: true });
      expectRows(output, all.output, at, at + n);
      at += n;
      expect(weights?.shape.at(-1)).toBeLessThanOrEqual(n + 2);
    }
    cache.dispose();
  });

  test("startCache of multi-head attention, and of an encoder layer", async () => {
    const mha = await engine.multiheadAttention({ embedDim: 16, numHeads: 4, batchFirst: true });
    await mha.loadStateDict(layerState(7, 16));
    const options: AttentionOptions = { rotary: "half", averageAttnWeights: false };
    const all = await mha.forward(x, { ...options, isCausal: true });
    const cache = await mha.startCache();
    let at = 0;
    for (const n of kSteps) {
      const { output, weights } = await cache.forward(rows(x, at, at + n), options);
      expectRows(output, all.output, at, at + n);
      expect(weights?.shape).toEqual([2, 4, n, at + n]);
      at += n;
    }
    expect(cache.length).toBe(kLength);
    mha.dispose();
    await expectError(() => cache.forward(x), "disposed");
  });

  test("an encoder layer decodes, too", async () => {
    const layer = await engine.transformerEncoderLayer({
      embedDim: 16, numHeads: 4, dimFeedforward: 8, batchFirst: true, norm: "rms_norm", bias: false,
    });
    const attention = Object.entries(layerState(7, 16)).filter(([name]) => name.endsWith("weight"));
    await layer.loadStateDict({
      ...Object.fromEntries(attention.map(([name, tensor]) => [`self_attn.${name}`, tensor])),
      "linear1.weight": random(8, 8, 16), "linear2.weight": random(9, 16, 8),
      "norm1.weight": random(10, 16), "norm2.weight": random(11, 16),
    });
    const all = await layer.forward(x, { isCausal: true });
    const cache = await layer.startCache();
    let at = 0;
    for (const n of kSteps) {
      expectRows((await cache.forward(rows(x, at, at + n))).output, all.output, at, at + n);
      at += n;
    }
    layer.dispose();
  });

  test("isCausal: false lets the tokens of one call see each other", async () => {
    const cache = await engine.cachedAttention();
    const { output } = await cache.forward(q, k, v, { enableGqa: true, isCausal: false });
    expect(output).toEqual((await engine.scaledDotProductAttention(q, k, v, { enableGqa: true })).output);
    cache.dispose();
  });

  test("queries of no rows only append", async () => {
    const all = await engine.scaledDotProductAttention(q, k, v, { enableGqa: true, isCausal: true });
    const cache = await engine.cachedAttention();
    const none = { data: [], shape: [2, 4, 0, 8] };
    const options = { enableGqa: true, needWeights: true } as const;
    const { output, weights } = await cache.forward(none, rows(k, 0, 6), rows(v, 0, 6), options);
    expect([output.shape, weights.shape, cache.length]).toEqual([[2, 4, 0, 5], [2, 4, 0, 6], 6]);
    const last = await cache.forward(rows(q, 6, 10), rows(k, 6, 10), rows(v, 6, 10), options);
    expectRows(last.output, all.output, 6, 10);
    cache.dispose();
  });

  test("a refused call leaves the cache as it was", async () => {
    const all = await engine.scaledDotProductAttention(q, k, v, { enableGqa: true, isCausal: true, windowLeft: 2 });
    const cache = await engine.cachedAttention({ window: 3 });
    const step = (begin: number, end: number, more = {}): unknown =>
      cache.forward(rows(q, begin, end), rows(k, begin, end), rows(v, begin, end), { enableGqa: true, ...more });
    await expectError(() => step(0, 4, { temperature: 0 }), "value", /temperature/);
    expect(cache.length).toBe(0);
    await step(0, 6);
    for (const bad of [{ temperature: -1 }, { headMask: random(1, 3) }, { enableGqa: false }, { topK: 0 }]) {
      await expectError(() => step(6, 8, bad), "(value|shape|option)" as "value");
      expect(cache.length).toBe(6);
    }
    await expectError(() => cache.forward(q, random(1, 2, 3, 10, 8), v), "shape");
    await expectError(() => step(6, 7, { pastKey: k }), "option", /unknown option "pastKey"/);
    const { output } = await step(6, 10) as { output: Tensor };
    expectRows(output, all.output, 6, 10);
    cache.dispose();
  });

  test.each([-1, 1.5, NaN, "3", 2 ** 60])("window %s is refused", async (window) => {
    await expectError(() => engine.cachedAttention({ window: window as never }), "option", /window is/);
  });
});
