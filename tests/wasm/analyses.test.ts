// SPDX-License-Identifier: Apache-2.0
/**
 * Heads in numbers: every function against PyTorch's numbers, published ones, or ones worked out by hand. Each, here and in a worker.
 */
import { load, type AsyncEngine, type Engine, type StateDict, type Tensor, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectClose, expectError, kGolden, readSafetensors, tensorOf } from "./support.js";

type AnyEngine = Engine | AsyncEngine;

const of = (shape: number[], ...data: number[]): TensorLike => ({ shape, data });
/** A tensor's numbers, to six digits. */
const rounded = (data: ArrayLike<number>): number[] => Array.from(data, (x) => Math.round(x * 1e6) / 1e6 + 0);
const closeTo = (x: number): unknown => expect.closeTo(x, 6);

// One head of two tokens, the second of which looks half at each; and the same after a padded token.
const weights = of([1, 2, 2], 1, 0, 0.5, 0.5);
const values = of([1, 2, 2], 3, 4, 0, 1);
const identity = of([2, 2], 1, 0, 0, 1);
const paddedWeights = of([1, 3, 3], NaN, NaN, NaN, 0, 1, 0, 0, 0.5, 0.5);
const paddedValues = of([1, 3, 2], NaN, NaN, 3, 4, 0, 1);
const padding = { paddedQueries: [true, false, false], paddedKeys: [true, false, false] };

const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  beforeAll(async () => {
    engine = await load({ worker });
  });
  afterAll(() => engine.dispose());

  describe("the built-in model's heads, by PyTorch", () => {
    const all = tensorOf(golden, "repeats");
    const length = all.shape[1] ?? 0;
    const ids = [...all.data.slice(0, length)];

    async function mapsOf(tokens: readonly number[]): Promise<Tensor[]> {
      const model = await engine.loadModel("tiny");
      const seen = await model.attend([...tokens]);
      const { layers, heads } = model.info;
      const maps: Tensor[] = [];
      for (let layer = 0; layer < layers; ++layer) {
        const data = new Float32Array(heads * length * length);
        for (let head = 0; head < heads; ++head) data.set((await seen.map(layer, head)).data, head * length * length);
        maps.push({ data, shape: [heads, length, length] });
      }
      model.dispose();
      return maps;
    }

    test("rollout", async () => {
      expectClose("rollout", await engine.rollout(await mapsOf(ids)), tensorOf(golden, "rollout"), 2e-5);
    });

    test("metrics, as means over all rows of the file", async () => {
      const names = ["previous", "induction", "entropyNormalized", "sharpness", "distance", "sink"] as const;
      const rows = all.shape[0] ?? 0;
      const sums = new Map(names.map((name) => [name, new Float32Array(32)]));
      for (let row = 0; row < rows; ++row) {
        const tokens = [...all.data.slice(row * length, (row + 1) * length)];
        for (const [layer, map] of (await mapsOf(tokens)).entries()) {
          const heads = await engine.headMetrics(map, { isCausal: true, tokens, metrics: names });
          for (const [head, scores] of heads.entries()) {
            for (const name of names) {
              const sum = sums.get(name) as Float32Array;
              const at = layer * 8 + head;
              sum[at] = (sum[at] ?? NaN) + (scores[name] ?? NaN) / rows;
            }
          }
        }
      }
      for (const name of names) {
        const expected = tensorOf(golden, name === "entropyNormalized" ? "entropy_normalized" : name);
        const largest = Math.max(...expected.data, 1);
        expectClose(name, { data: sums.get(name) as Float32Array, shape: [4, 8] }, expected, 2e-5 * largest);
      }
    }, 120_000);
  });

  test("metrics says what there is", async () => {
    const metrics = await engine.metrics();
    const find = (name: string): unknown => metrics.find((metric) => metric.name === name);
    expect(find("inductionText")).toMatchObject({ needs: ["tokens"], source: expect.stringContaining("HeadVis") as unknown });
    expect(find("copying")).toMatchObject({ needs: ["model"] });
    expect(metrics.filter(({ name }) => name.startsWith("locality"))).toHaveLength(14);
  });

  test("headMetrics and headMetricCounts: of the rows that count", async () => {
    const metrics = ["self", "previous", "next", "offset"] as const;
    const expected = [{ self: closeTo(0.75), previous: closeTo(0.5), next: null, offset: closeTo(-0.25) }];
    expect(await engine.headMetrics(weights, { isCausal: true, metrics })).toEqual(expected);
    expect(await engine.headMetrics(paddedWeights, { isCausal: true, metrics, ...padding })).toEqual(expected);
    expect(await engine.headMetricCounts(paddedWeights, { isCausal: true, metrics, ...padding }))
      .toEqual([{ self: 2, previous: 1, next: 0, offset: 2 }]);
    const near = of([3, 3], 1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5);
    const sink = { isCausal: true, metrics: ["sink"] } as const;
    expect(await engine.headMetrics(near, { ...sink, window: 2 })).toEqual([{ sink: closeTo(0.75) }]);
    expect(await engine.headMetrics(near, sink)).toEqual([{ sink: closeTo(0.5) }]);
    const strip = of([2, 3], 0.25, 0.25, 0.5, 0, 0, 1);
    expect(await engine.headMetrics(strip, { queryOffset: -2, metrics: ["offset"] }))
      .toEqual([{ offset: closeTo(3.125) }]);
    const visible = { data: [true, false, true, false], shape: [2, 2] };
    expect(await engine.headMetrics(of([2, 2], 1, 0, 1, 0), { visible, metrics: ["self", "previous"] }))
      .toEqual([{ self: 1, previous: 1 }]);
  });

  test("headSimilarity: ln 2 a row between heads that share nothing", async () => {
    const apart = of([2, 2, 2], 1, 0, 0, 1, 0, 1, 1, 0);
    const far = 2 * Math.LN2;
    expect(rounded((await engine.headSimilarity(apart, { smoothing: 0 })).data)).toEqual(rounded([0, far, far, 0]));
    const one = await engine.headSimilarity(apart, { smoothing: 0, paddedQueries: [false, true] });
    expect(rounded(one.data)).toEqual(rounded([0, Math.LN2, Math.LN2, 0]));
  });

  test("headImportance and pruningCurve", async () => {
    const contributions = of([2, 1, 2], 3, 0, 0, 4);
    expect(await engine.headImportance(contributions)).toEqual([
      { outputChange: closeTo(0.6), normShare: closeTo(3 / 7), cosine: closeTo(0.6) },
      { outputChange: closeTo(0.8), normShare: closeTo(4 / 7), cosine: closeTo(0.8) }]);
    // With a bias, out is (6, 8).
    const output = of([1, 2], 6, 8);
    expect((await engine.headImportance(contributions, output))[0]?.outputChange).toBeCloseTo(0.3, 6);
    expect(await engine.pruningCurve(contributions, output))
      .toEqual([{ head: 0, change: closeTo(0.3) }, { head: 1, change: closeTo(0.5) }]);
    const nothing = of([1, 1, 2], 0, 0);
    expect(await engine.headImportance(nothing)).toEqual([{ outputChange: null, normShare: null, cosine: null }]);
    expect(await engine.pruningCurve(nothing)).toEqual([]);
  });

  test("rollout and flow", async () => {
    const layer = (await engine.rollout([weights])).data;
    expect(rounded(layer)).toEqual([1, 0, 0.25, 0.75]);
    expect(rounded((await engine.rollout([weights, weights], { startLayer: 1 })).data)).toEqual([1, 0, 0.25, 0.75]);
    expect(rounded((await engine.flow([weights, weights])).data)).toEqual([1, 0, 0.4, 0.6]);
    for (const padded of [engine.rollout([paddedWeights], padding), engine.flow([paddedWeights], padding)])
      expect(rounded((await padded).data)).toEqual([1, 0, 0, 0, 1, 0, 0, 0.25, 0.75]);
    const two = of([2, 2, 2], 1, 0, 1, 0, 1, 0, 0, 1);
    expect(rounded((await engine.rollout([two], { fusion: "max" })).data)).toEqual(rounded([1, 0, 1 / 3, 2 / 3]));
    expect(rounded((await engine.flow([two], { fusion: "min" })).data)).toEqual([1, 0, 0, 1]);
    await expectError(() => engine.flow([weights], { maxTokens: 1 }), "unsupported", /maxTokens is 1/);
  });

  test("weightedMap and layerNorms: what weights carry", async () => {
    expect(rounded((await engine.weightedMap(weights, values)).data)).toEqual([1, 0, 0.5, 0.1]);
    expect(rounded((await engine.weightedMap(weights, values, { normalize: false })).data)).toEqual([5, 0, 2.5, 0.5]);
    const outWeight = of([2, 2], 2, 0, 0, 2);
    const written = await engine.weightedMap(weights, values, { outWeight, normalize: false });
    expect(rounded(written.data)).toEqual([10, 0, 5, 1]);
    expect(rounded((await engine.layerNorms(weights, values, outWeight)).data)).toEqual([10, 0, 5, 1]);
    // The key without any weight has the largest value, and counts unless it is padding.
    const first = of([1, 2, 2], 1, 0, 1, 0);
    const large = of([1, 2, 2], 3, 4, 6, 8);
    expect(rounded((await engine.weightedMap(first, large)).data)).toEqual([0.5, 0, 0.5, 0]);
    expect(rounded((await engine.weightedMap(first, large, { paddedKeys: [false, true] })).data)).toEqual([1, 0, 1, 0]);
    expect(rounded((await engine.weightedMap(paddedWeights, paddedValues, padding)).data))
      .toEqual([0, 0, 0, 0, 1, 0, 0, 0.5, 0.1]);
    expect(rounded((await engine.layerNorms(paddedWeights, paddedValues, outWeight, padding)).data))
      .toEqual([0, 0, 0, 0, 10, 0, 0, 5, 1]);
    await expectError(() => engine.layerNorms(paddedWeights, paddedValues, outWeight), "value", /weights\[0, 0\] is NaN/);
  });

  test("mixingRatio and valueZeroing", async () => {
    const one = of([1, 1], 1);
    expect(await engine.mixingRatio(weights, of([1, 2, 1], 1, 1), one)).toEqual([0, closeTo(0.5)]);
    const residual = of([3, 1], NaN, 0, 2);
    expect(await engine.mixingRatio(paddedWeights, of([1, 3, 1], NaN, 1, 1), one, { residual, ...padding }))
      .toEqual([null, 0, closeTo(0.5 / 3)]);
    const units = of([1, 2, 2], 1, 0, 0, 1);
    expect(rounded((await engine.valueZeroing(weights, units, identity)).data)).toEqual([1, 0, 0.5, 0.5]);
    // With a bias of (0.5, 0) the second output is (1, 0.5); (0.5, 0.5) and (1, 0) without one value or the other.
    const [a, b] = [1 - 0.75 / Math.sqrt(0.625), 1 - 1 / Math.sqrt(1.25)];
    const { data } = await engine.valueZeroing(weights, units, identity, { bias: of([2], 0.5, 0) });
    expect(rounded(data)).toEqual(rounded([0, 0, a / (a + b), b / (a + b)]));
    const padded = await engine.valueZeroing(paddedWeights, of([1, 3, 2], NaN, 0, 1, 0, 0, 1), identity, padding);
    expect(rounded(padded.data)).toEqual([0, 0, 0, 0, 1, 0, 0, 0.5, 0.5]);
  });

  test("circuits and compositionScores of constructed weights", async () => {
    const state: StateDict = {
      q_proj_weight: of([2, 2], 2, 0, 0, 1), k_proj_weight: of([2, 2], 3, 0, 0, 1),
      v_proj_weight: of([2, 2], 4, 0, 0, 1), "out_proj.weight": of([2, 2], 1, 0, 0, -1),
    };
    const spectrum = (large: number, small: number, copying: number): object =>
      ({ eigenvalues: [[closeTo(large), 0], [closeTo(small), 0]], copyingScore: closeTo(copying) });
    const qk = { singularValues: [closeTo(6), closeTo(1)], ...spectrum(6, 1, 1) };
    const ov = { singularValues: [closeTo(4), closeTo(1)], ...spectrum(4, -1, 0.6) };
    expect(await engine.circuits(state, { numHeads: 1 })).toEqual([{ qk, ov }]);
    const packed: StateDict = {
      in_proj_weight: of([6, 2], 2, 0, 0, 1, 3, 0, 0, 1, 4, 0, 0, 1), "out_proj.weight": of([2, 2], 1, 0, 0, -1),
    };
    expect(await engine.circuits(packed, { numHeads: 1 })).toEqual([{ qk, ov }]);
    // γ = (1, 2); Eᵀ E = diag(1, 2), Eᵀ U = diag(1, 4).
    const [full] = await engine.circuits(state, {
      numHeads: 1, norm: of([2], 1, 2),
      embedding: of([3, 2], 1, 0, 0, 1, 0, 1), unembedding: of([3, 2], 1, 0, 0, 2, 0, 2),
    });
    expect(full?.fullQk).toEqual(spectrum(8, 6, 1));
    expect(full?.fullOv).toEqual(spectrum(-8, 4, -1 / 3));
    // W_OV = diag(4, −1) and W_QK = diag(6, 1).
    const reads = closeTo(Math.sqrt(24 ** 2 + 1) / Math.sqrt(37 * 17));
    expect(await engine.compositionScores(state, state, { numHeads: 1 }))
      .toEqual({ query: [[reads]], key: [[reads]], value: [[closeTo(Math.sqrt(16 ** 2 + 1) / 17)]] });
  });

  test("sinusoidalPositions: what a golden embedding adds to its rows", async () => {
    for (const [name, offset, scale] of [["embedding_sinusoidal", 0, 1], ["embedding_sinusoidal_odd", 0, 1],
      ["embedding_sinusoidal_offset", 1000, Math.sqrt(6)]] as const) {
      const file = readSafetensors(`${kGolden}/cases/${name}.safetensors`);
      const output = tensorOf(file, "expected.output");
      const [length = 0, width = 0] = output.shape.slice(-2);
      const ids = tensorOf(file, "ids").data;
      const table = tensorOf(file, "weight").data;
      const added = output.data.slice(0, length * width)
        .map((x, i) => x - scale * (table[(ids[Math.floor(i / width)] ?? 0) * width + i % width] ?? NaN));
      // The rest of a difference of numbers up to √6 · 4 and 1.
      const got = await engine.sinusoidalPositions(length, width, offset);
      expectClose(name, got, { data: added, shape: [length, width] }, 2e-6);
    }
  });

  test("alibiSlopes: those of the paper for 8 heads, and of its code for 12", async () => {
    const eight = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256];
    expect([...(await engine.alibiSlopes(8)).data]).toEqual(eight);
    // Every other one of sixteen heads' follows: 2^(−1/2), 2^(−3/2), …
    const between = [0.70710678, 0.35355339, 0.1767767, 0.08838835];
    expect(rounded((await engine.alibiSlopes(12)).data)).toEqual(rounded([...eight, ...between]));
  });

  test("t5Bucket: the buckets of 32 up to a distance of 128", async () => {
    const begins = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91];
    for (const [bucket, begin] of begins.entries()) {
      const last = (begins[bucket + 1] ?? 1000) - 1;
      expect(await engine.t5Bucket(-begin), `${begin} back`).toBe(bucket);
      expect(await engine.t5Bucket(-last), `${last} back`).toBe(bucket);
      if (begin > 0) expect(await engine.t5Bucket(begin), `${begin} ahead`).toBe(bucket + 16);
    }
    expect(await engine.t5Bucket(5, { bidirectional: false })).toBe(0);
    expect(await engine.t5Bucket(-15, { bidirectional: false })).toBe(15);
    expect(await engine.t5Bucket(-127, { bidirectional: false })).toBe(31);
  });

  test.each([["t5_bias_far_ahead", 1, true], ["t5_bias_far_back", -1, false]] as const)(
    "t5Bucket: the row of the table that PyTorch added, %s", async (name, direction, bidirectional) => {
      // One query at one end of the keys, all of width 1: scores are products.
      const file = readSafetensors(`${kGolden}/cases/${name}.safetensors`);
      const [query, key, table, biased] = ["query", "key", "t5_bias", "expected.biased_scores"]
        .map((tensor) => tensorOf(file, tensor).data);
      const count = key?.length ?? 0;
      for (let distance = 0; distance < count; ++distance) {
        const at = direction > 0 ? distance : count - 1 - distance;
        const bias = (biased?.[at] ?? NaN) - (query?.[0] ?? NaN) * (key?.[at] ?? NaN);
        const bucket = await engine.t5Bucket(direction * distance, { bidirectional });
        expect(table?.[bucket], `${distance}: bucket ${bucket}`).toBeCloseTo(bias, 5);
      }
    });
});
