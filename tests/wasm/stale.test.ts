// SPDX-License-Identifier: Apache-2.0
/**
 * Arrays that say something else of their length than they hold, and arguments whose getters move, resize or dispose of what other arguments
 * brought: what is computed is what was given, or an error says what became of it. Never what happened to be in memory.
 */
import { load, type AsyncEngine, type Engine, type Model, type Tensor, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bits, expectError, layerState, random } from "./support.js";

let engine: Engine;
let worker: AsyncEngine;
let model: Model;
beforeAll(async () => {
  engine = await load();
  worker = await load({ worker: true });
  model = await engine.loadModel("tiny");
});
afterAll(() => {
  engine.dispose();
  worker.dispose();
});

const kMha = { embedDim: 8, numHeads: 2, batchFirst: true };
const q = random(1, 1, 2, 4, 8);
const x = random(2, 1, 4, 8);
const weights = { data: new Float32Array(32).fill(0.25), shape: [2, 4, 4] };
const values = random(3, 2, 4, 4);
const outWeight = random(4, 8, 8);

/** Classes whose accessors TypeScript takes for plain properties. */
const kLonger = { length: { get: () => 10_000 }, byteLength: { get: () => 40_000 } };
const kShorter = { length: { get: () => 1 }, byteOffset: { get: () => 8 } };
function subclass(accessors: PropertyDescriptorMap): Float32ArrayConstructor {
  class Lying extends Float32Array {
    static get [Symbol.species](): never {
      throw new TypeError("a class of the page's is not to be made");
    }
  }
  Object.defineProperties(Lying.prototype, accessors);
  return Lying;
}
const lying = (accessors: PropertyDescriptorMap) => (data: Float32Array): Float32Array =>
  new (subclass(accessors))(Float32Array.from(data).buffer);
const owning = (data: Float32Array, length: number): Float32Array =>
  Object.defineProperty(Float32Array.from(data), "length", { get: () => length });

/** The same numbers in arrays that lie. */
const kLiars: readonly (readonly [string, (data: Float32Array) => Float32Array])[] = [
  ["a class that says more", lying(kLonger)],
  ["a class that says less", lying(kShorter)],
  ["a property that says more", (data) => owning(data, 10_000)],
  ["a property that says less", (data) => owning(data, 0)],
];

/** Every way that a tensor comes in, as a call of one of them. */
const kWays: readonly (readonly [string, Tensor, (on: Engine | AsyncEngine, tensor: TensorLike) => unknown])[] = [
  ["q", q, (on, t) => on.scaledDotProductAttention(t, q, q)],
  ["v", q, (on, t) => on.scaledDotProductAttention(q, q, t)],
  ["q of maps", q, async (on, t) => {
    const maps = await on.attentionMaps(t, q);
    const overview = await maps.overview(0);
    maps.dispose();
    return overview;
  }],
  ["attnMask", random(5, 4, 4), (on, t) => on.scaledDotProductAttention(q, q, q, { attnMask: t as Tensor })],
  ["weights", weights, (on, t) => on.headMetrics(t)],
  ["a layer's weights", weights, (on, t) => on.rollout([t, weights])],
  ["outWeight", outWeight, (on, t) => on.layerNorms(weights, values, t)],
  ["matrix", random(6, 4, 4), (on, t) => on.colorize(t)],
  ["a parameter", random(7, 24, 8), async (on, t) => {
    const mha = await on.multiheadAttention(kMha);
    await mha.loadStateDict({ ...layerState(1, 8), in_proj_weight: t });
    const { output } = await mha.forward(x);
    mha.dispose();
    return output;
  }],
  ["a circuit's parameter", random(7, 24, 8), (on, t) => on.circuits({ in_proj_weight: t, "out_proj.weight": outWeight }, { numHeads: 2 })],
];

describe.each(["page", "worker"])("in the %s", (where) => {
  const on = (): Engine | AsyncEngine => where === "page" ? engine : worker;

  test.each(kWays)("%s: what an array says of its length does not count", async (_, tensor, call) => {
    const expected = bits(await call(on(), tensor));
    for (const [what, lie] of kLiars) {
      expect(bits(await call(on(), { data: lie(tensor.data), shape: tensor.shape })), what).toEqual(expected);
    }
  });

  /** Tensors whose `data` are read, and what takes them away again. */
  const kLosses: readonly (readonly [string, (data: Float32Array) => [Float32Array, () => void]])[] = [
    ["moved", (data) => {
      const own = Float32Array.from(data);
      return [own, () => structuredClone(own.buffer, { transfer: [own.buffer] })];
    }],
    ["shrunk", (data) => {
      const buffer = resizable(data.byteLength);
      const own = new Float32Array(buffer);
      own.set(data);
      return [own, () => buffer.resize(4)];
    }],
    ["shrunk below a view's end", (data) => {
      const buffer = resizable(data.byteLength);
      const own = new Float32Array(buffer, 0, data.length);
      own.set(data);
      return [own, () => buffer.resize(data.byteLength - 4)];
    }],
  ];
  const tensorThat = (act: () => void, tensor: { data: Float32Array; shape: number[] }): TensorLike => ({
    get data() {
      act();
      return tensor.data;
    },
    shape: tensor.shape,
  });

  test.each(kLosses)("a buffer that is %s by another argument's getter", async (_, make) => {
    const fresh = (): [TensorLike, () => void] => {
      const [data, lose] = make(q.data);
      return [{ data, shape: q.shape }, lose];
    };
    const expected = bits(await on().scaledDotProductAttention(q, q, q));
    for (let i = 0; i < 3; ++i) { // a call that comes again is another path
      const [taken, lose] = fresh();
      await expectError(() => on().scaledDotProductAttention(taken, q, tensorThat(lose, q)), "dtype", where === "page" ? /^q\.data had 64 values/ : /data had 64/);
      expect(bits(await on().scaledDotProductAttention(q, q, q))).toEqual(expected);
    }
    const [lost, loseQuery] = make(q.data);
    await expectError(() => on().attentionMaps({ data: lost, shape: q.shape }, tensorThat(loseQuery, q)), "dtype", /data had 64/);
    const [mask, loseMask] = make(random(5, 4, 4).data);
    await expectError(
      () => on().scaledDotProductAttention(q, tensorThat(loseMask, q), q, { attnMask: { data: mask, shape: [4, 4] } }),
      where === "page" ? "dtype" : "shape", /attnMask\.data ha[ds]/); // the worker's side reads options last
    const [map, loseMap] = make(weights.data);
    await expectError(() => on().rollout([{ data: map, shape: [2, 4, 4] }, tensorThat(loseMap, weights)]), "dtype", /data had 32/);
    const [some, loseSome] = make(weights.data);
    await expectError(() => on().weightedMap({ data: some, shape: [2, 4, 4] }, tensorThat(loseSome, values)), "dtype", /data had 32/);
    const mha = await on().multiheadAttention(kMha);
    const state = layerState(1, 8);
    const [bias, loseBias] = make((state.in_proj_bias as typeof q).data);
    const lossy = { in_proj_bias: { data: bias, shape: [24] }, ...withoutBias(state, tensorThat(loseBias, state["out_proj.bias"] as typeof q)) };
    await expectError(() => mha.loadStateDict(lossy), "dtype", /in_proj_bias\.data had 24/);
    mha.dispose();
    const [own, loseOwn] = make(q.data);
    const itself = { data: own, get shape() { loseOwn(); return q.shape; } };
    await expectError(() => on().scaledDotProductAttention(itself, q, q), "(dtype|shape)" as "dtype", /data ha[ds]/);
  });

  test("an array of `out` that is moved or resized by another argument's getter", async () => {
    const expected = bits(await on().scaledDotProductAttention(q, q, q));
    for (const [, make] of kLosses) {
      for (let i = 0; i < 3; ++i) {
        const [data, lose] = make(q.data);
        const out = { output: { data, shape: q.shape } };
        await expectError(
          () => on().scaledDotProductAttention(q, q, tensorThat(lose, q), { out }),
          where === "page" ? "dtype" : "(shape|value)" as "shape", /out\.output\.data/);
        expect(bits(await on().scaledDotProductAttention(q, q, q))).toEqual(expected);
      }
    }
  });

  test("a buffer that grew meanwhile gives what it held", async () => {
    const expected = bits(await on().scaledDotProductAttention(q, q, q));
    const buffer = resizable(q.data.byteLength, 1 << 16);
    const data = new Float32Array(buffer);
    data.set(q.data);
    const grow = tensorThat(() => buffer.resize(1 << 12), q);
    const shape = q.shape;
    expect(bits(await on().scaledDotProductAttention({ data, shape }, q, grow))).toEqual(expected);
  });

  test("sizes whose product is not exact are refused, whatever a 0 makes of it", async () => {
    const none = new Float32Array(0);
    const kMany = Array.from({ length: 30 }, () => 2 ** 52);
    for (const shape of [[0, 2 ** 52, 2 ** 52], [2 ** 40, 0, 2 ** 20], [...kMany, 0]]) {
      await expectError(() => on().scaledDotProductAttention({ data: none, shape }, q, q), "memory", /q has shape .* below 2\^53/);
    }
    await expectError(() => on().colorize({ data: none, shape: [2 ** 31, 0] }), "shape", /matrix has shape .*expected at most/);
  });

  test("an option's getter that disposes of what it is an option of", async () => {
    const make = async (): Promise<Engine | AsyncEngine> => where === "page" ? load() : load({ worker: true });
    const disposing = (thing: { dispose(): void }): object =>
      ({ get backend() { thing.dispose(); return undefined; } });
    const other = await make();
    const mha = await other.multiheadAttention(kMha);
    await mha.loadStateDict(layerState(1, 8));
    const cache = await mha.startCache();
    await expectError(() => cache.forward(x, disposing(cache)), "disposed");
    await expectError(() => mha.forward(x, disposing(mha)), "disposed");
    await expectError(() => mha.startCache(), "disposed");
    const cached = await other.cachedAttention();
    await expectError(() => cached.forward(q, q, q, disposing(cached)), "disposed");
    const halves = { get dtype() { other.dispose(); return undefined; } };
    await expectError(() => other.cachedAttention(halves), "disposed");
    type Call = (on: Engine | AsyncEngine, options: object) => unknown;
    for (const [name, call] of [
      ["isCausal", (on, o) => on.scaledDotProductAttention(q, q, q, o)],
      ["isCausal", (on, o) => on.attentionMaps(q, q, o)],
      ["numKvHeads", (on, o) => on.multiheadAttention(Object.assign(o, kMha))],
      ["isCausal", (on, o) => on.headMetrics(weights, o)],
      ["theme", (on, o) => on.colorize(random(6, 4, 4), o)],
      ["theme", (on, o) => on.colorbar(4, o)],
      ["onProgress", (on, o) => on.loadModel("tiny", o)],
    ] as [string, Call][]) {
      const mine = await make();
      const options = { get [name]() { mine.dispose(); return undefined; } };
      await expectError(() => call(mine, options), "disposed");
    }
  });
});

function withoutBias(state: Record<string, TensorLike>, last: TensorLike): Record<string, TensorLike> {
  const { in_proj_weight, "out_proj.weight": out } = state as Record<string, TensorLike> & Record<"in_proj_weight" | "out_proj.weight", TensorLike>;
  return { in_proj_weight, "out_proj.weight": out, "out_proj.bias": last };
}

interface Resizable extends ArrayBuffer {
  resize(byteLength: number): void;
}

/** Newer than the library that these tests are compiled with. */
function resizable(byteLength: number, maxByteLength = byteLength): Resizable {
  const Buffer = ArrayBuffer as unknown as new (length: number, options: object) => Resizable;
  return new Buffer(byteLength, { maxByteLength });
}

describe("models", () => {
  const attend = (input: unknown, options?: object): readonly number[] => {
    const seen = model.attend(input as string, options);
    const { ids } = seen;
    seen.dispose();
    return ids;
  };

  test("ids and lists of options are read once", () => {
    const lists = (first: unknown[], later: unknown): unknown[] => {
      const reads = new Map<PropertyKey, number>();
      return new Proxy(first, {
        get(target, key, receiver): unknown {
          const count = (reads.get(key) ?? 0) + 1;
          reads.set(key, count);
          return /^\d+$/.test(String(key)) && count > 1 ? later : Reflect.get(target, key, receiver) as unknown;
        },
      });
    };
    const evil = { valueOf(): never { throw new TypeError("this is not to be converted in the middle of a call"); } };
    expect(attend(lists([1, 2, 3], evil))).toEqual([1, 2, 3]);
    expect(attend([1, 2, 3], { paddingMask: lists([true, false, false], evil) })).toEqual([1, 2, 3]);
    const seen = model.attend("The cat");
    const pair = (a: number, b: number): [number, number] => lists([a, b], evil) as [number, number];
    expect(seen.map(0, 0, { rows: pair(1, 2), pool: pair(1, 1) }).shape).toEqual([1, 1]);
    seen.dispose();
  });

  test("a getter that disposes of the model, or of what was made of it", async () => {
    const disposing = (thing: { dispose(): void }, name: string): object =>
      ({ get [name]() { thing.dispose(); return undefined; } });
    const fresh = (): Promise<Model> => engine.loadModel("tiny");
    const first = await fresh();
    await expectError(() => first.attend("The cat", disposing(first, "truncate")), "disposed", /this model was disposed/);
    const second = await fresh();
    await expectError(() => second.startDecoding(disposing(second, "dtype")), "disposed");
    const third = await fresh();
    await expectError(() => third.rankHeads(["The cat"], disposing(third, "metrics")), "disposed");
    for (const [name, call] of [
      ["rows", (seen: ReturnType<Model["attend"]>, o: object): unknown => seen.map(0, 0, o)],
      ["rows", (seen: ReturnType<Model["attend"]>, o: object): unknown => seen.rowSummaries(0, 0, o)],
      ["pool", (seen: ReturnType<Model["attend"]>, o: object): unknown => seen.overview(0, o)],
      ["theme", (seen: ReturnType<Model["attend"]>, o: object): unknown => seen.pixels(0, 0, o)],
      ["rows", (seen: ReturnType<Model["attend"]>, o: object): unknown => seen.logits(o)],
    ] as const) {
      const seen = model.attend("The cat");
      await expectError(() => call(seen, disposing(seen, name)), "disposed", /this attention was disposed/);
    }
    const decoding = model.startDecoding();
    const ids = new Proxy([1, 2], {
      get(target, key, receiver): unknown {
        if (key === "1") decoding.dispose();
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    await expectError(() => decoding.step(ids), "disposed");
    const fourth = await fresh();
    const headMask = { get data() { fourth.dispose(); return new Float32Array(32); }, shape: [4, 8] };
    await expectError(() => fourth.attend("The cat", { headMask }), "disposed");
  });

  test("files whose streams give what is no bytes", async () => {
    class Odd extends File {
      constructor(name: string, readonly chunk: unknown) {
        super(["{}"], name);
      }
      override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
        const { chunk } = this;
        return new ReadableStream({
          start(controller) {
            controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
            controller.close();
          },
        });
      }
    }
    const rest = ["tokenizer.json", "model.safetensors"].map((name) => new File(["{}"], name));
    for (const chunk of ["text", 7, new DataView(new ArrayBuffer(2)), { length: 1e9 }]) {
      await expectError(() => engine.loadModel([new Odd("config.json", chunk), ...rest]), "model-load", /config\.json/);
    }
    const odd = Object.defineProperty(new TextEncoder().encode("{}"), "length", { value: 1e9 });
    await expectError(() => engine.loadModel([new Odd("config.json", odd), ...rest]), "(format|option|value)" as "format", /model_type|config/);
  });
});
