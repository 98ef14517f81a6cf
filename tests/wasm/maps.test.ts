// SPDX-License-Identifier: Apache-2.0
/** Maps that are computed as they are looked at: of given queries and keys, with their summaries, and of several heads at once. */
import { readFileSync } from "node:fs";
import { load, readSafetensors, type AttentionMapsOptions, type MapOptions, type Overview, type OverviewOptions, type Tensor, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AnyEngine } from "./cases.js";
import { bits, expectClose, expectError, kBuilds, kEpsilon, kRoot, random } from "./support.js";

const q = random(1, 2, 4, 9, 6), k = random(2, 2, 4, 11, 6);
const grouped = random(3, 2, 2, 11, 6);
const mask = { data: Array.from({ length: 99 }, (_, i) => i % 3 !== 0), shape: [9, 11] };

/** One head's part of a tensor [B,H,..]. */
function partOf({ data, shape: [, heads = 1, ...rest] }: Tensor, batch: number, head: number): Tensor {
  const size = rest.reduce((a, b) => a * b, 1), at = (batch * heads + head) * size;
  return { data: data.slice(at, at + size), shape: rest };
}

const kCases: readonly (readonly [string, TensorLike, AttentionMapsOptions])[] = [
  ["plain", k, {}],
  ["causal, with a scale", k, { isCausal: true, scale: 0.3 }],
  ["a mask and a window", k, { attnMask: mask, windowLeft: 4, causalAlignment: "bottom_right" }],
  ["grouped heads", grouped, { enableGqa: true, gqaOrder: "interleaved", softcap: 2 }],
  ["entmax and ALiBi", k, { normalizer: "entmax15", alibi: true }],
  ["rotary positions, in fp64", k, { rotary: "half", isCausal: true, backend: "reference" }],
  ["a sink and documents", k, {
    sinks: random(4, 4), conventions: "onnx",
    keyDocuments: { data: Int32Array.from({ length: 22 }, (_, i) => Math.floor((i % 11) / 4)), shape: [2, 11] },
    queryDocuments: { data: Int32Array.from({ length: 18 }, (_, i) => i % 4), shape: [2, 9] },
  }],
];

test("parts and pooled maps are PyTorch's", async () => {
  const file = await readSafetensors(readFileSync(`${kRoot}tests/golden/maps/parts.safetensors`));
  const of = (name: string): Tensor => file.tensors.get(name) as Tensor;
  for (const simd of kBuilds) {
    const engine = await load({ simd });
    for (const isCausal of [false, true]) {
      const maps = engine.attentionMaps(of("query"), of("key"), { scale: 0.25, isCausal });
      const name = isCausal ? "causal" : "plain";
      for (let head = 0; head < 2; ++head) {
        const expected = (what: string): Tensor => partOf(of(`${name}.${what}`), 0, head);
        const part = { rows: [5, 17], cols: [3, 29] } satisfies MapOptions;
        expectClose("part", maps.map(0, head, part), expected("part"), 32 * kEpsilon);
        expectClose("max", maps.map(0, head, { pool: [6, 6], pooling: "max" }), expected("max"), 32 * kEpsilon);
        expectClose("mean", maps.map(0, head, { pool: [6, 6] }), expected("mean"), 32 * kEpsilon);
        expectClose("part's max", maps.map(0, head, { ...part, pool: [4, 13], pooling: "max" }), expected("part_max"), 32 * kEpsilon);
      }
    }
    engine.dispose();
  }
});

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  beforeAll(async () => {
    engine = await load({ worker });
  });
  afterAll(() => engine.dispose());

  test.each(kCases)("%s: maps and summaries are the weights and lse of the same call of attention", async (_, key, options) => {
    const { weights, lse } = await engine.scaledDotProductAttention(q, key, key, { ...options, needWeights: true, stages: ["lse"] });
    const maps = await engine.attentionMaps(q, key, options);
    expect([maps.batches, maps.heads, maps.queries, maps.keys]).toEqual([2, 4, 9, 11]);
    for (const [batch, head] of [[0, 0], [0, 3], [1, 2]] as const) {
      const expected = partOf(weights, batch, head);
      expectClose("map", await maps.map(batch, head), expected, 16 * kEpsilon);
      const rows = await maps.rowSummaries(batch, head);
      expectClose("lse", rows.lse, partOf(lse, batch, head), 64 * kEpsilon);
      const largest = Array.from({ length: 9 }, (_, t) => Math.max(...expected.data.subarray(t * 11, (t + 1) * 11)));
      expectClose("largest", rows.largest, { data: Float32Array.from(largest), shape: [9] }, 16 * kEpsilon);
      const part = await maps.map(batch, head, { rows: [2, 5], cols: [3, 9] });
      const cells = [2, 3, 4].flatMap((t) => [...expected.data.subarray(t * 11 + 3, t * 11 + 9)]);
      expectClose("part", part, { data: Float32Array.from(cells), shape: [3, 6] }, 64 * kEpsilon);
    }
    maps.dispose();
  });

  test("rows say how many keys their queries may look at", async () => {
    const maps = await engine.attentionMaps(q, k, { isCausal: true, windowLeft: 2 });
    const { keys } = await maps.rowSummaries(1, 1);
    expect([...keys.data]).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3]);
    const some = await maps.rowSummaries(1, 1, { rows: [1, 3] });
    expect([some.lse.shape, some.largest.shape, [...some.keys.data]]).toEqual([[2], [2], [2, 3]]);
    expect((await maps.rowSummaries(1, 1, { rows: [4, 4] })).lse.shape).toEqual([0]);
    maps.dispose();
  });

  test.each<[OverviewOptions, number[]]>([
    [{}, [4, 9, 11]],
    [{ pool: [3, 4] }, [4, 3, 4]],
    [{ pool: [3, 4], pooling: "mean" }, [4, 3, 4]],
    [{ heads: [1, 3], pool: [100, 2] }, [2, 9, 2]],
    [{ heads: [2, 2] }, [0, 9, 11]],
  ])("an overview %j is the maps and summaries of its heads", async (options, shape) => {
    const maps = await engine.attentionMaps(q, k, { isCausal: true });
    const overview: Overview = await maps.overview(1, options);
    expect(overview.maps.shape).toEqual(shape);
    expect([overview.largest.shape, overview.keys.shape]).toEqual([[shape[0], 9], [shape[0], 9]]);
    const { heads, ...pooled } = { pooling: "max" as const, ...options };
    const [begin, end] = heads ?? [0, 4];
    for (let head = begin; head < end; ++head) {
      const own = (tensor: Tensor): Tensor => partOf({ ...tensor, shape: [1, ...tensor.shape] }, 0, head - begin);
      expect(bits(own(overview.maps))).toEqual(bits(await maps.map(1, head, pooled)));
      const rows = await maps.rowSummaries(1, head);
      expect(bits([own(overview.largest), own(overview.keys)])).toEqual(bits([rows.largest, rows.keys]));
    }
    maps.dispose();
  });

  test("a model's attention has them, too", async () => {
    const model = await engine.loadModel("tiny");
    const seen = await model.attend("The cat sat on the mat.");
    const { maps, largest, keys } = await seen.overview(1, { heads: [3, 5], pool: [4, 4] });
    expect([maps.shape, largest.shape, keys.shape]).toEqual([[2, 4, 4], [2, 8], [2, 8]]);
    expect(bits(partOf({ ...maps, shape: [1, 2, 4, 4] }, 0, 1))).toEqual(bits(await seen.map(1, 4, { pool: [4, 4], pooling: "max" })));
    const rows = await seen.rowSummaries(1, 4);
    expect([...rows.keys.data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect([...keys.data]).toEqual([...rows.keys.data, ...rows.keys.data]);
    const own = await engine.attentionMaps(await seen.queries(1), await seen.keys(1), { isCausal: true });
    expect([own.batches, own.heads]).toEqual([1, 8]);
    expect(bits(await own.rowSummaries(0, 4))).toEqual(bits(rows));
    await expectError(() => seen.overview(4), "value", "layer is 4, expected a whole number from 0 to 3");
    await expectError(() => seen.rowSummaries(0, 8), "value", "head is 8");
    model.dispose();
    await expectError(() => seen.overview(0), "disposed", "this attention was disposed");
    expect((await own.map(0, 0)).shape).toEqual([8, 8]); // it has copies of its own
    own.dispose();
  });

  test("the caller's arrays may change afterwards", async () => {
    const mine = structuredClone(q);
    const maps = await engine.attentionMaps(mine, k);
    const before = await maps.map(0, 0);
    mine.data.fill(0);
    expect(await maps.map(0, 0)).toEqual(before);
    maps.dispose();
  });

  test("sizes of 0", async () => {
    const none = (...shape: number[]): Tensor => ({ data: new Float32Array(0), shape });
    const noKeys = await engine.attentionMaps(random(1, 2, 3, 4), none(2, 0, 4));
    const { maps, largest, keys } = await noKeys.overview(0);
    expect(maps.shape).toEqual([2, 3, 0]);
    expect([...largest.data, ...keys.data]).toEqual(new Array(12).fill(0));
    expect([...(await noKeys.rowSummaries(0, 1)).lse.data]).toEqual([-Infinity, -Infinity, -Infinity]);
    expect((await noKeys.map(0, 1, { pool: [2, 2], pooling: "max" })).shape).toEqual([3, 0]);
    const noRows = await engine.attentionMaps(none(2, 0, 4), random(1, 2, 3, 4));
    expect((await noRows.overview(0)).maps.shape).toEqual([2, 0, 3]);
    const many = await engine.attentionMaps(none(8192, 8192, 0, 1), none(8192, 8192, 0, 1));
    expect((await many.rowSummaries(8191, 8191)).lse.shape).toEqual([0]);
    const noBatch = await engine.attentionMaps(none(0, 2, 3, 4), none(0, 2, 3, 4));
    await expectError(() => noBatch.overview(0), "value", "batch is 0, expected nothing: there are none");
    for (const made of [noKeys, noRows, many, noBatch]) made.dispose();
  });

  type Refusal = [what: string, call: () => unknown, code: "value" | "option" | "shape" | "dtype", says: string | RegExp];
  const concerningNoWeights = ["needWeights", "stages", "dropoutP", "seed", "headMask", "pastKey", "averageAttnWeights"];
  test.each<Refusal>([
    ["heads that differ", () => engine.attentionMaps(q, grouped), "shape", /^k has shape \(2, 2, 11, 6\), expected \(2, 4, 11, 6\).*enableGqa/],
    ["widths that differ", () => engine.attentionMaps(q, random(1, 2, 4, 11, 5)), "shape", /^k has shape/],
    ["no width", () => engine.attentionMaps({ data: [], shape: [2, 0] }, { data: [], shape: [2, 0] }), "shape", /^q has shape \(2, 0\)/],
    ["one dimension", () => engine.attentionMaps(random(1, 4), random(1, 4)), "shape", /^q has shape \(4,\), expected 2 to 4/],
    ["no k", () => engine.attentionMaps(q, undefined as never), "dtype", "k is undefined"],
    ["a mask that does not fit", () => engine.attentionMaps(q, k, { attnMask: random(1, 3, 3) }), "shape", "attnMask has shape (3, 3)"],
    ["a mask that is no number", () => engine.attentionMaps(q, k, { attnMask: { data: [NaN], shape: [1, 1] } }), "value", "attnMask"],
    ...concerningNoWeights.map((name): Refusal =>
      [name, () => engine.attentionMaps(q, k, { [name]: 0 }), "option", `unknown option "${name}"`]),
  ])("refused: %s", async (_, call, code, says) => {
    await expectError(call, code, says);
  });

  test.each([
    [{ heads: [0, 5] }, "heads is [0,5], expected two whole numbers from 0 to 4"],
    [{ heads: [2, 1] }, "heads is [2,1], expected a beginning that is not after the end"],
    [{ pool: [0, 1] }, "pool is [0,1], expected two whole numbers from 1 up"],
    [{ pooling: "median" }, "pooling is \"median\""],
    [{ rows: [0, 1] }, "overview: unknown option \"rows\""],
  ])("an overview %j is refused", async (options, says) => {
    const maps = await engine.attentionMaps(q, k);
    await expectError(() => maps.overview(0, options as object), /unknown|median/.test(says) ? "option" : "value", says);
    await expectError(() => maps.overview(2), "value", "batch is 2, expected a whole number from 0 to 1");
    await expectError(() => maps.map(0, -1), "value", "head is -1");
    await expectError(() => maps.rowSummaries(0, 0, { rows: [0, 10] }), "value", "rows is [0,10]");
    maps.dispose();
  });

  test("dispose gives the memory back, once, and ends with the engine", async () => {
    const large = random(5, 1, 8, 512, 64);
    const round = async (): Promise<void> => {
      const maps = await engine.attentionMaps(large, large, { isCausal: true });
      await maps.overview(0, { pool: [16, 16] });
      maps.dispose();
      maps.dispose();
      await expectError(() => maps.map(0, 0), "disposed", "this attentionMaps was disposed");
      await expectError(() => engine.attentionMaps(large, large, { windowLeft: -7 }), "option");
    };
    await round();
    const before = await engine.heapBytes();
    for (let i = 0; i < 3; ++i) await round();
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
    const mine = await load({ worker });
    const maps = await mine.attentionMaps(q, k);
    mine.dispose();
    await expectError(() => maps.overview(0), "disposed");
  });

  test("getters that dispose of what is to be read", async () => {
    if (worker) return; // what is sent has been read by then
    const maps = await engine.attentionMaps(q, k);
    const disposing = (name: string): object => ({ get [name]() { maps.dispose(); return undefined; } });
    await expectError(() => maps.overview(0, disposing("pool")), "disposed");
    const again = await engine.attentionMaps(q, k);
    await expectError(() => again.rowSummaries(0, 0, { get rows() { again.dispose(); return undefined; } }), "disposed");
    const mine = await load();
    const data = { get data() { mine.dispose(); return k.data; }, shape: k.shape };
    await expectError(() => mine.attentionMaps(q, data), "disposed");
  });
});
