// SPDX-License-Identifier: Apache-2.0
/** The API's manners: what it takes, how it refuses, whose memory is whose. Each, here and in a worker. */
import { HeadlensError, load, type AsyncEngine, type Engine, type Tensor, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectError, layerState, random, zeros } from "./support.js";

type AnyEngine = Engine | AsyncEngine;

const q = random(1, 2, 2, 4, 8);
const k = random(2, 2, 2, 5, 8);
const v = random(3, 2, 2, 5, 8);
const of = (data: unknown, ...shape: unknown[]): TensorLike => ({ data, shape }) as TensorLike;

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  beforeAll(async () => {
    engine = await load({ worker });
  });
  afterAll(() => engine.dispose());

  const sdpa = (query: unknown, options?: unknown): unknown =>
    engine.scaledDotProductAttention(query as TensorLike, k, v, options as object);

  describe("tensors", () => {
    test.each<[string, unknown, string, ...RegExp[]]>([
      ["nothing", undefined, "dtype", /^q is undefined, expected a tensor/],
      ["an array", [1, 2], "dtype", /^q is \[1,2\], expected a tensor/],
      ["no data", { shape: [1] }, "dtype", /^q is Object/],
      ["booleans", of([true, false], 1, 2), "dtype", /^q\.data is array of boolean, expected Float32Array/],
      ["bytes", of(new Uint8Array(4), 2, 2), "dtype", /^q\.data is Uint8Array/],
      ["strings", of(["1", "2"], 1, 2), "dtype", /^q\.data is array of string/],
      ["a stray string", of([1, "2"], 1, 2), "dtype", /^q\.data\[1\] is "2", expected a number/],
      ["big integers", of(new BigInt64Array(2), 1, 2), "dtype", /^q\.data is BigInt64Array/],
      ["a buffer", of(new ArrayBuffer(8), 1, 2), "dtype", /^q\.data is/],
      ["too little data", of(new Float32Array(7), 2, 4), "shape", /^q\.data has 7 values, expected 8 for shape \(2, 4\)/],
      ["too much data", of(new Float32Array(9), 2, 4), "shape", /^q\.data has 9 values/],
      ["a negative size", of(new Float32Array(2), -1, -2), "shape", /^q\.shape is \(-1, -2\), expected whole numbers/],
      ["a fraction", of(new Float32Array(2), 0.5, 4), "shape", /^q\.shape is \(0.5, 4\)/],
      ["a size that is no number", of(new Float32Array(2), "2"), "shape", /^q\.shape is \("2",\)/],
      ["NaN for a size", of(new Float32Array(0), NaN), "shape", /^q\.shape is \(NaN,\)/],
      ["a shape that overflows", of(new Float32Array(0), 2 ** 52, 2 ** 52, 0, 8), "memory", /4503599627370496/],
      ["no shape", { data: new Float32Array(2), shape: 2 }, "shape", /^q\.shape is 2, expected an array/],
      ["one dimension", of(new Float32Array(8), 8), "shape", /\(8,\)/],
      ["another width", random(1, 2, 2, 4, 7), "shape", /7/, /8/],
      ["another batch", random(1, 3, 2, 4, 8), "shape", /3/, /2/],
    ])("a query that is %s", (_, query, code, ...words) => expectError(() => sdpa(query), code as "shape", ...words));

    test("Float64Array, plain numbers, Int32Array, `dims`, parts of larger buffers: all the same numbers", async () => {
      const small = Float32Array.from([1, -2, 3, 0, 5, 6, -7, 8]);
      const run = async (data: unknown): Promise<Float32Array> =>
        (await engine.scaledDotProductAttention(of(data, 2, 4), of(small, 2, 4), of(small, 2, 4))).output.data;
      const expected = await run(small);
      expect(await run([...small])).toEqual(expected);
      expect(await run(Float64Array.from(small))).toEqual(expected);
      expect(await run(Int32Array.from(small))).toEqual(expected);
      const large = new Float32Array(1000);
      large.set(small, 100);
      expect(await run(large.subarray(100, 108))).toEqual(expected);
      const dims = { data: small, dims: [2, 4] };
      expect((await engine.scaledDotProductAttention(dims, dims, dims)).output.data).toEqual(expected);
    });

    test("a tensor of another library, with getters on its class", async () => {
      class Foreign {
        #data = q.data;
        get data(): Float32Array {
          return this.#data;
        }
        get dims(): number[] {
          return [2, 2, 4, 8];
        }
      }
      const { output } = await engine.scaledDotProductAttention(new Foreign(), k, v);
      expect(output).toEqual((await engine.scaledDotProductAttention(q, k, v)).output);
    });

    test("inputs are left as they are, and results are the caller's own", async () => {
      const before = q.data.slice();
      const first = await engine.scaledDotProductAttention(q, k, v, { needWeights: true });
      expect(q.data).toEqual(before);
      const copy = structuredClone(first);
      first.output.data.fill(7);
      const second = await engine.scaledDotProductAttention(q, k, v, { needWeights: true });
      expect(second).toEqual(copy);
      expect(first.output.data.byteLength).toBe(first.output.data.buffer.byteLength);
      await engine.scaledDotProductAttention(
        random(9, 1, 1, 512, 64),
        random(8, 1, 1, 512, 64),
        random(7, 1, 1, 512, 64),
      );
      expect(second).toEqual(copy);
    });

    test("empty sequences", async () => {
      const { output } = await engine.scaledDotProductAttention(
        zeros(1, 2, 0, 8),
        zeros(1, 2, 5, 8),
        zeros(1, 2, 5, 8),
      );
      expect(output).toEqual({ data: new Float32Array(0), shape: [1, 2, 0, 8] });
    });
  });

  describe("options", () => {
    test("options that an object has through its class or prototype count; what all objects have does not", async () => {
      class Causal {
        #value = true;
        get isCausal(): boolean {
          return this.#value;
        }
      }
      class Named extends Causal {
        needWeights = true;
      }
      const plain = { isCausal: true, needWeights: true };
      const expected = await sdpa(q, plain);
      for (const options of [new Named(), Object.create(plain), Object.assign(new Causal(), { needWeights: true })]) {
        expect(await sdpa(q, options)).toEqual(expected);
      }
      await expectError(() => sdpa(q, Object.create({ isCasual: true })), "option", /unknown option "isCasual"/);
      await expectError(() => sdpa(q, Object.assign(new Causal(), { window: 1 })), "option", /unknown option "window"/);
      const sizes = Object.create({ embedDim: 8, numHeads: 2, bias: false }) as { embedDim: number; numHeads: number };
      const mha = await engine.multiheadAttention(sizes);
      expect(mha.parameterCount).toBe(4 * 64);
      mha.dispose();
      const polluted = Object.prototype as { isCausal?: boolean };
      polluted.isCausal = true;
      try {
        expect(await sdpa(q, { needWeights: true })).not.toEqual(expected);
      } finally {
        delete polluted.isCausal;
      }
    });

    test("null is as good as absent, in every place of a call", async () => {
      const [q, k, v] = [random(1, 1, 2, 3, 4), random(2, 1, 2, 3, 4), random(3, 1, 2, 3, 4)] as const;
      const settings = JSON.parse('{"isCausal":true,"needWeights":true,"windowLeft":null,"attnMask":null,"stages":null,"out":null}') as object;
      const expected = await engine.scaledDotProductAttention(q, k, v, { isCausal: true, needWeights: true });
      expect(await engine.scaledDotProductAttention(q, k, v, settings)).toEqual(expected);
      const plain = await engine.scaledDotProductAttention(q, k, v);
      expect(await engine.scaledDotProductAttention(q, k, v, null)).toEqual(plain);
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2, numKvHeads: null, bias: null });
      await mha.loadStateDict(layerState(1, 8));
      const x = random(4, 3, 8);
      const self = await mha.forward(x, null, null, { isCausal: true, out: { output: null, weights: undefined } });
      expect(self).toEqual(await mha.forward(x, { isCausal: true }));
      const cache = await mha.startCache({ window: null, dtype: null });
      expect(await cache.forward(x, { isCausal: null })).toEqual(self);
      mha.dispose();
      const weights = { data: new Float32Array(9).fill(1 / 3), shape: [3, 3] };
      const [head] = await engine.headMetrics(weights, { isCausal: null, tokens: null, metrics: null });
      expect(head).toEqual((await engine.headMetrics(weights))[0]);
      const parts = random(5, 2, 3, 4);
      expect(await engine.headImportance(parts, null)).toEqual(await engine.headImportance(parts));
      const positions = await engine.sinusoidalPositions(2, 4, null);
      expect(positions).toEqual(await engine.sinusoidalPositions(2, 4));
      const model = await engine.loadModel("tiny", { signal: null, onProgress: null });
      const seen = await model.attend("The cat", { truncate: null, headMask: null, replacedTokens: null, patches: null });
      expect((await seen.map(0, 0, { rows: null, pool: null })).shape).toEqual([3, 3]);
      const [best] = await model.rankHeads(["The cat sat."], { metrics: ["previous"], ascending: null, specialTokens: null });
      expect(best?.scores.previous.texts).toBe(1);
      model.dispose();
    });

    test.each<[unknown, string, ...RegExp[]]>([
      [{ isCasual: true }, "option", /unknown option "isCasual"/, /isCausal/],
      [{ is_causal: true }, "option", /unknown option "is_causal"; did you mean isCausal\? Expected one of /],
      ["fast", "option", /options are "fast", expected an object/],
      [[], "option", /options are \[\]/],
      [{ isCausal: "yes" }, "option", /isCausal is "yes", expected true or false/],
      [{ isCausal: NaN }, "option", /isCausal is NaN, expected true or false/],
      [{ windowLeft: Infinity }, "option", /windowLeft is Infinity, expected a whole number, at least 0/],
      [{ stages: [null] }, "option", /stages is \[null\], expected a list of names/],
      [{ conventions: [1] }, "option", /conventions is \[1\], expected one of "torch-mha"/],
      [{ normalizer: new Map() }, "option", /normalizer is Map, expected one of "softmax"/],
      [{ scale: NaN }, "option", /scale is NaN, expected a finite number/],
      [{ scale: Infinity }, "option", /scale is Infinity/],
      [{ scale: 1n }, "option", /scale is 1/],
      [{ stages: ["sores"] }, "option", /stages names "sores", expected some of: .*scaledScores/],
      [{ stages: "scores" }, "option", /stages is "scores"/],
      [{ backend: "gpu" }, "option", /"gpu"/, /simd/, /reference/],
      [{ conventions: "numpy" }, "option", /conventions is "numpy"/, /torch-sdpa/],
      [{ maskTrue: "maybe" }, "option", /maskTrue is "maybe"/, /keep/, /ignore/],
      [{ fullyMasked: 0 }, "option", /fullyMasked is 0/, /uniform/],
      [{ seed: -1 }, "option", /seed is -1/],
      [{ seed: 0.5 }, "option", /seed is 0.5/],
      [{ dropoutP: 1.5 }, "value", /1.5/],
      [{ attnMask: zeros(3, 3) }, "shape", /attnMask/, /3/],
      [{ attnMask: { data: new Float32Array(20).fill(NaN), shape: [4, 5] } }, "value", /NaN/],
      [{ attnMask: { data: new Int32Array(20), shape: [4, 5] } }, "dtype", /attnMask\.data is Int32Array/],
      [{ attnMask: true }, "dtype", /attnMask is true/],
      [
        { keyPaddingMask: zeros(2, 5) },
        "dtype",
        /keyPaddingMask\.data is Float32Array, expected Uint8Array, array of boolean/,
      ],
      [{ keyPaddingMask: { data: new Uint8Array(8), shape: [2, 4] } }, "shape", /keyPaddingMask/],
      [{ validLens: zeros(2) }, "dtype", /validLens\.data is Float32Array, expected Int32Array, array of number/],
      [{ validLens: { data: [1.5, 2], shape: [2] } }, "value", /validLens\.data\[0\] is 1.5/],
      [{ validLens: { data: [-1, 2], shape: [2] } }, "value", /validLens\.data\[0\] is -1/],
      [{ validLens: { data: [6, 2], shape: [2] } }, "value", /validLens/, /6/],
      [{ validLens: { data: [1], shape: [1] } }, "shape", /validLens/],
    ])("%o", (options, code, ...words) => expectError(() => sdpa(q, options), code as "option", ...words));

    test("an absent option and one that is undefined are the same", async () => {
      expect(await sdpa(q, { isCausal: undefined, stages: undefined })).toEqual(await sdpa(q));
    });

    test("an input of a refused call does not reach the next one", async () => {
      const attnMask = { data: new Array<boolean>(20).fill(false), shape: [4, 5] };
      await expectError(() => sdpa(q, { attnMask, backend: "gpu" }), "option");
      await expectError(() => sdpa(q, { attnMask, validLens: { data: [99, 99], shape: [2] } }), "value");
      using other = await load();
      expect(await sdpa(q)).toEqual(other.scaledDotProductAttention(q, k, v));
    });

    test("masks: booleans and bytes say which, numbers are added", async () => {
      const keep = Array.from({ length: 20 }, (_, i) => (i * 7) % 3 !== 0);
      const run = (data: unknown, more = {}): unknown =>
        sdpa(q, { attnMask: of(data, 4, 5), needWeights: true, ...more });
      const expected = await run(keep);
      expect(await run(Uint8Array.from(keep, (look) => (look ? 255 : 0)))).toEqual(expected);
      expect(
        await run(
          keep.map((look) => !look),
          { maskTrue: "ignore" },
        ),
      ).toEqual(expected);
      // Added numbers need the scaled scores; without any, the scale goes into the exponentials: the same but for rounding.
      const added = await run(keep.map((look) => (look ? 0 : -Infinity)));
      const numbersOf = (result: unknown): number[] =>
        Object.values(result as Record<string, Tensor>).flatMap(({ data }) => Array.from(data));
      const [got, right] = [numbersOf(added), numbersOf(expected)];
      expect(got.length).toBe(right.length);
      expect(Math.max(...got.map((value, i) => Math.abs(value - (right[i] ?? NaN))))).toBeLessThan(16 * 2 ** -23);
      expect(await run(Float32Array.from(keep, (look) => (look ? 0 : -Infinity)))).toEqual(added);
    });
  });

  describe("layers", () => {
    test.each<[unknown, string, ...RegExp[]]>([
      [{ embedDim: 10, numHeads: 3 }, "shape", /embedDim is 10, expected a multiple of numHeads, 3/],
      [{ embedDim: 8 }, "option", /numHeads is missing/],
      [{ embedDim: 0, numHeads: 1 }, "option", /embedDim is 0/],
      [{ embedDim: 8.5, numHeads: 1 }, "option", /embedDim is 8.5/],
      [{ embedDim: 8, numHeads: 2, heads: 2 }, "option", /multiheadAttention: unknown option "heads"/],
      [{ embedDim: 8, numHeads: 2, batchFirst: 1 }, "option", /batchFirst is 1/],
      [{ embedDim: 2 ** 40, numHeads: 1 }, "shape|value|memory|option"],
      [undefined, "option", /embedDim is missing/],
    ])("multiheadAttention(%j)", async (options, code, ...words) => {
      await expect(async () => {
        const mha = await engine.multiheadAttention(options as never);
        await mha.forward(zeros(1, 8));
      }).rejects.toSatisfy((error: unknown) => {
        expect(error).toBeInstanceOf(HeadlensError);
        expect((error as HeadlensError).code).toMatch(new RegExp(`^(${code})$`));
        for (const word of words) expect((error as HeadlensError).message).toMatch(word);
        return true;
      });
    });

    test("a state dict: missing, unexpected, misshapen, not a tensor; the layer stays usable", async () => {
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2, batchFirst: true });
      const state = layerState(1, 8);
      const { in_proj_bias, ...rest } = state;
      await expectError(() => mha.forward(zeros(1, 2, 8)), "shape", /^nothing was loaded yet: call loadStateDict first$/);
      await expectError(() => mha.loadStateDict(undefined as never), "dtype", /state is undefined/);
      await expectError(() => mha.loadStateDict(rest), "value", /in_proj_bias missing/);
      await expectError(() => mha.loadStateDict({ ...state, query: zeros(1) }), "value", /query unexpected/);
      await expectError(() => mha.loadStateDict({ ...state, in_proj_bias: 1 as never }), "dtype", /in_proj_bias is 1/);
      await mha.loadStateDict({ ...rest, in_proj_bias } as never);
      expect((await mha.forward(zeros(1, 2, 8))).output.shape).toEqual([1, 2, 8]);
    });

    test("a state dict that does not fit is refused at once, and the parameters before stay", async () => {
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2, batchFirst: true });
      const x = random(5, 2, 3, 8);
      const other = layerState(100, 8);
      const misshapen = { ...other, "out_proj.bias": zeros(7) };
      const refused = (): Promise<void> =>
        expectError(() => mha.loadStateDict(misshapen), "shape", /parameter out_proj\.bias has shape \(7,\), expected \(8,\)/);
      await refused();
      await expectError(() => mha.forward(x), "shape", /^nothing was loaded yet: call loadStateDict first$/);
      await mha.loadStateDict(layerState(1, 8));
      const before = await mha.forward(x);
      await refused();
      expect(await mha.forward(x)).toEqual(before);
      await expectError(() => mha.loadStateDict({ ...other, in_proj_weight: zeros(8, 24) }), "shape", /\(8, 24\)/, /\(24, 8\)/);
      expect(await mha.forward(x)).toEqual(before);

      const embedding = await engine.embedding({ positions: "learned" });
      await expectError(
        () => embedding.loadStateDict({ weight: zeros(4, 2), position_embeddings: zeros(4, 3) }), "shape",
        /position_embeddings has shape \(4, 3\)/,
      );
      await expectError(() => embedding.loadStateDict({ weight: zeros(4), position_embeddings: zeros(4, 2) }), "shape", /weight/);
    });

    test("forward takes (query), (query, options), (query, key, options), (query, key, value, options)", async () => {
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2, batchFirst: true });
      await mha.loadStateDict(layerState(1, 8));
      const x = random(5, 2, 3, 8);
      const y = random(6, 2, 4, 8);
      const none = { needWeights: false };
      expect(await mha.forward(x, undefined, undefined, none)).toEqual(await mha.forward(x, none));
      expect(await mha.forward(x, x, x)).toEqual(await mha.forward(x));
      expect(await mha.forward(x, y, none)).toEqual(await mha.forward(x, y, y, none));
      expect(await mha.forward(x, y, undefined, none)).toEqual(await mha.forward(x, y, y, none));
      await expectError(() => mha.forward(x, {} as never, y), "dtype", /key is Object/);
      await expectError(() => mha.forward(x, 3 as never), "option", /options are 3/);
      await expectError(
        () => mha.forward(x, y, { isCausal: true, enableGqa: true } as never),
        "option",
        /MultiheadAttention.forward: unknown option "enableGqa"/,
      );
      await expectError(() => mha.forward(x, random(6, 1, 4, 8)), "shape", /2/, /1/);
      await expectError(() => mha.forward(random(6, 2, 4, 9)), "shape", /9/, /8/);
    });

    test("parameters stay from call to call and can be replaced", async () => {
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2, batchFirst: true });
      const x = random(5, 2, 3, 8);
      await mha.loadStateDict(layerState(1, 8));
      const first = await mha.forward(x);
      expect(await mha.forward(x)).toEqual(first);
      await mha.loadStateDict(layerState(100, 8));
      expect((await mha.forward(x)).output.data).not.toEqual(first.output.data);
      await mha.loadStateDict(layerState(1, 8));
      expect(await mha.forward(x)).toEqual(first);
    });
  });

  describe("colours", () => {
    test("one pixel a cell; NaN and the future are transparent", async () => {
      const data = Float32Array.from([0, 0.5, 1, NaN, 0.25, 0.75]);
      const picture = await engine.colorize({ data, shape: [2, 3] }, { min: 0, max: 1 });
      expect([picture.width, picture.height, picture.data.constructor.name, picture.data.length]).toEqual([
        3,
        2,
        "Uint8ClampedArray",
        24,
      ]);
      const alpha = (image: { data: Uint8ClampedArray }): number[] => [...image.data].filter((_, i) => i % 4 === 3);
      expect(alpha(picture)).toEqual([255, 255, 255, 0, 255, 255]);
      expect(alpha(await engine.colorize({ data, shape: [2, 3] }, { causal: true }))).toEqual([255, 0, 0, 0, 255, 0]);
      const bar = await engine.colorbar(3);
      expect([...picture.data.subarray(0, 4)]).toEqual([...bar.subarray(0, 4)]);
      expect([...picture.data.subarray(8, 12)]).toEqual([...bar.subarray(8, 12)]);
      expect(await engine.colorbar(3, { theme: "dark" })).not.toEqual(bar);
      expect(await engine.colorbar(3, { colormap: "diverging" })).not.toEqual(bar);
    });

    test.each<[unknown, unknown, string, ...RegExp[]]>([
      [random(1, 4), {}, "shape", /matrix has shape \(4,\), expected \(rows, cols\)/],
      [random(1, 2, 2), { colormap: "jet" }, "option", /colormap is "jet", expected one of "sequential", "diverging"/],
      [random(1, 2, 2), { theme: 1 }, "option", /theme is 1/],
      [random(1, 2, 2), { min: "0" }, "option", /min is "0", expected a finite number/],
      [random(1, 2, 2), { max: Infinity }, "option", /max is Infinity/],
      [random(1, 2, 2), { min: 2, max: 1 }, "option", /min is 2, expected less than max, 1/],
      [random(1, 2, 2), { min: 1, max: 1 }, "option", /min is 1, expected less than max, 1/],
      [random(1, 2, 2), { causal: 1 }, "option", /causal is 1/],
      [random(1, 2, 2), { colourmap: "x" }, "option", /colorize: unknown option "colourmap"/],
    ])("colorize refuses %j with %j", (matrix, options, code, ...words) =>
      expectError(() => engine.colorize(matrix as TensorLike, options as object), code as "shape", ...words),
    );

    test.each(["min", "max", "causal"])("colorbar refuses the option %s, which it has no use for", (name) =>
      expectError(() => engine.colorbar(3, { [name]: 0 }), "option", `unknown option "${name}"`, /ne of colormap, theme$/),
    );

    test.each([0, -1, 1.5, NaN, 1e9, "8"])("colorbar refuses %j steps", (steps) =>
      expectError(() => engine.colorbar(steps as number), "value", /steps is/),
    );
  });

  describe("dispose", () => {
    test("is final, idempotent, spelled two ways, and takes along what was made", async () => {
      const mine = await load({ worker });
      const mha = await mine.multiheadAttention({ embedDim: 8, numHeads: 2 });
      const other = await mine.multiheadAttention({ embedDim: 8, numHeads: 2 });
      mha.dispose();
      mha[Symbol.dispose]();
      await expectError(() => mha.forward(zeros(1, 8)), "disposed", /multiheadAttention was disposed/);
      await expectError(() => mha.loadStateDict({}), "disposed");
      expect(mha.parameterCount).toBe(4 * 64 + 32);
      mine[Symbol.dispose]();
      mine.dispose();
      for (const call of [
        () => other.forward(zeros(1, 8)),
        () => mine.scaledDotProductAttention(q, k, v),
        () => mine.multiheadAttention({ embedDim: 8, numHeads: 2 }),
        () => mine.transformerEncoderLayer({ embedDim: 8, numHeads: 2 }),
        () => mine.loadModel("tiny"),
        () => mine.colorize(random(1, 2, 2)),
        () => mine.colorbar(3),
        () => mine.heapBytes(),
      ])
        await expectError(call, "disposed");
      expect(mine.info.version).toBe("0.1.0");
      other.dispose();
    });

    test("works with `using`", async () => {
      let seen: AnyEngine;
      {
        using mine = await load({ worker });
        seen = mine;
        await mine.colorbar(2);
      }
      await expectError(() => seen.colorbar(2), "disposed");
    });
  });
});
