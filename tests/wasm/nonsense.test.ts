// SPDX-License-Identifier: Apache-2.0
/**
 * Errors that only JavaScript can make: each option and each tensor of each call gets values that make no sense there.
 */
import { HeadlensError, load, type Difference, type Engine, type Model, type ModelAttention, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Caller, optionNames } from "../../wasm/src/arguments/names.js";
import { kRight } from "../refusals.js";
import { caseOf, makeLayer, type AnyLayer } from "./cases.js";
import { layerState, random } from "./support.js";

type Given = Record<string, unknown>;

let engine: Engine;
let model: Model;
const kLayers: Record<string, AnyLayer> = {};

const kLayerOptions = { embedDim: 8, numHeads: 2, batchFirst: true };
const kState = layerState(1, 8);
const q = random(1, 2, 2, 3, 4);
const x = random(2, 2, 3, 8);
const kWeights = { data: new Float32Array(18).fill(1 / 3), shape: [2, 3, 3] };
const kValues = random(3, 2, 3, 4);
const kOut = random(4, 8, 8);
const kIds = { data: Int32Array.of(0, 1, 2), shape: [3] };
const kText = "The cat sat.";
const kHead = { layer: 1, head: 2 };

beforeAll(async () => {
  engine = await load({ simd: "baseline" });
  model = await engine.loadModel("tiny");
  for (const [op, { parameters, options }] of Object.entries(kRight)) {
    const state = Object.entries(parameters).map(([name, [, shape]]) => [name, random(5, ...shape)] as const);
    const made = await makeLayer(engine, caseOf(op, options, new Map(state)));
    if (made) kLayers[op] = made;
  }
});
afterAll(() => engine.dispose());

const layer = (op: string): AnyLayer => kLayers[op] as AnyLayer;
const disposed = (made: { dispose(): void }): void => { made.dispose(); };
const withCache = async (op: string, inputs: readonly TensorLike[], options: Given): Promise<void> => {
  const cache = (layer(op) as never as { startCache(): AnyLayer }).startCache();
  try {
    await cache.forward(...inputs, options);
  } finally {
    cache.dispose();
  }
};

/** Every call that takes options, with its other arguments. */
const kCalls: Readonly<Record<Caller, (options: never) => unknown>> = {
  scaledDotProductAttention: (o: Given) => engine.scaledDotProductAttention(q, q, q, o),
  attentionMaps: (o: Given) => disposed(engine.attentionMaps(q, q, o)),
  multiheadAttention: (o: Given) => {
    const mha = engine.multiheadAttention({ ...kLayerOptions, ...o });
    try {
      mha.loadStateDict(kState);
      mha.forward(x);
    } finally {
      mha.dispose();
    }
  },
  "MultiheadAttention.forward": (o: Given) => layer("multihead_attention").forward(x, o),
  transformerEncoderLayer: (o: Given) => makeAndRun("transformer_encoder_layer", o),
  "TransformerEncoderLayer.forward": (o: Given) => layer("transformer_encoder_layer").forward(x, o),
  transformerDecoderLayer: (o: Given) => makeAndRun("transformer_decoder_layer", o),
  "TransformerDecoderLayer.forward": (o: Given) => layer("transformer_decoder_layer").forward(x, x, o),
  embedding: (o: Given) => disposed(engine.embedding(o)),
  "Embedding.forward": (o: Given) => layer("embedding").forward(kIds, o),
  startCache: (o: Given) => disposed(engine.cachedAttention(o)),
  startDecoding: (o: Given) => disposed(model.startDecoding(o)),
  "CachedAttention.forward": (o: Given) => {
    const cache = engine.cachedAttention();
    try {
      cache.forward(q, q, q, o);
    } finally {
      cache.dispose();
    }
  },
  "MultiheadAttention.startCache.forward": (o: Given) => withCache("multihead_attention", [x], o),
  "TransformerEncoderLayer.startCache.forward": (o: Given) => withCache("transformer_encoder_layer", [x], o),
  "TransformerDecoderLayer.startCache.forward": (o: Given) => withCache("transformer_decoder_layer", [x, x], o),
  metrics: () => engine.metrics(),
  headMetrics: (o: Given) => engine.headMetrics(kWeights, o),
  headMetricCounts: (o: Given) => engine.headMetricCounts(kWeights, o),
  headSimilarity: (o: Given) => engine.headSimilarity(kWeights, o),
  headImportance: () => engine.headImportance(kValues),
  pruningCurve: () => engine.pruningCurve(kValues),
  rollout: (o: Given) => engine.rollout([kWeights], o),
  flow: (o: Given) => engine.flow([kWeights], o),
  weightedMap: (o: Given) => engine.weightedMap(kWeights, kValues, o),
  layerNorms: (o: Given) => engine.layerNorms(kWeights, kValues, kOut, o),
  mixingRatio: (o: Given) => engine.mixingRatio(kWeights, kValues, kOut, o),
  valueZeroing: (o: Given) => engine.valueZeroing(kWeights, kValues, kOut, o),
  circuits: (o: Given) => engine.circuits(circuitState(), { numHeads: 2, ...o }),
  compositionScores: (o: Given) => engine.compositionScores(circuitState(), circuitState(), { numHeads: 2, ...o }),
  sinusoidalPositions: ({ length = 2, width = 4, offset }: Record<string, number>) =>
    engine.sinusoidalPositions(length, width, offset),
  alibiSlopes: ({ heads = 2 }: Record<string, number>) => engine.alibiSlopes(heads),
  t5Bucket: ({ distance = 1, ...o }: Record<string, number>) => engine.t5Bucket(distance, o),
  colorize: (o: Given) => engine.colorize(random(1, 2, 2), o),
  colorbar: (o: Given) => engine.colorbar(4, o),
  stepMap: (o: Given) => {
    const decoding = model.startDecoding();
    try {
      decoding.step(kText);
      decoding.map(0, 0, o);
    } finally {
      decoding.dispose();
    }
  },
  pixels: (o: Given) => attended((attention) => attention.pixels(0, 0, o)),
  map: (o: Given) => attended((attention) => attention.map(0, 0, o)),
  rowSummaries: (o: Given) => attended((attention) => attention.rowSummaries(0, 0, o)),
  overview: (o: Given) => attended((attention) => attention.overview(0, o)),
  logits: (o: Given) => attended((attention) => attention.logits(o)),
  attend: async (o: Given) => {
    const seen: ModelAttention | Promise<ModelAttention> = model.attend("paddingMask" in o || "segments" in o ? [1, 2, 3] : kText, o);
    disposed(await Promise.resolve(seen));
  },
  again: async (o: Given) => {
    const seen = model.attend(kText);
    try {
      disposed(await Promise.resolve(seen.again(o) as ModelAttention | Promise<ModelAttention>));
    } finally {
      seen.dispose();
    }
  },
  explain: (o: Given) => attended((attention) => attention.explain({ ...kHead, query: 1, key: 0, ...o })),
  explainOutput: (o: Given) => attended((attention) => attention.explainOutput({ ...kHead, query: 1, ...o })),
  sources: (o: Given) => attended((attention) => attention.sources({ ...kHead, ...o })),
  predictions: (o: Given) => attended((attention) => attention.predictions(o)),
  written: (o: Given) => attended((attention) => attention.written({ ...kHead, ...o })),
  contributions: (o: Given) => attended((attention) => attention.contributions(o)),
  paths: async (o: Given) => {
    const seen = model.attend(kText, { keepParts: true });
    try {
      await seen.paths("layer" in o || "head" in o ? { layer: 1, head: 0, ...o } : o);
    } finally {
      seen.dispose();
    }
  },
  queries: (o: Given) => attended((attention) => attention.queries(0, o)),
  keys: (o: Given) => attended((attention) => attention.keys(0, o)),
  values: (o: Given) => attended((attention) => attention.values(0, o)),
  differenceMap: (o: Given) => compared((difference) => difference.map(0, 0, o)),
  predictionChanges: (o: Given) => compared((difference) => difference.predictionChanges(o)),
  patch: (o: Given) => attended((attention) => model.patch({ ...kHead, from: attention, ...o })),
  load: async (o: Given) => disposed(await load(o as never)),
  loadModel: async (o: Given) => disposed(await engine.loadModel("tiny", o)),
  rankHeads: (o: Given) => model.rankHeads([[1, 2, 3]], { metrics: ["previous"], ...o }),
};

function circuitState(): Record<string, TensorLike> {
  return { in_proj_weight: random(6, 24, 8), "out_proj.weight": kOut };
}

async function makeAndRun(op: string, options: Given): Promise<void> {
  const { parameters, ...right } = kRight[op] ?? { parameters: {}, options: {} };
  const state = Object.entries(parameters).map(([name, [, shape]]) => [name, random(5, ...shape)] as const);
  const problem = caseOf(op, right.options, new Map(state));
  const made = await makeLayer(engine, { ...problem, makerOptions: { ...problem.makerOptions, ...options } });
  try {
    await made?.forward(x, ...(op.includes("decoder") ? [x] : []));
  } finally {
    made?.dispose();
  }
}

function compared(use: (difference: Difference) => unknown): void {
  attended((attention) => {
    const difference = engine.difference(attention, attention);
    try {
      use(difference);
    } finally {
      difference.dispose();
    }
  });
}

function attended(use: (attention: ReturnType<Model["attend"]>) => unknown): void {
  const attention = model.attend(kText, { keepParts: true, keepValues: true });
  try {
    use(attention);
  } finally {
    attention.dispose();
  }
}

/** The other options that an option needs in order to be used. */
const kBeside: Readonly<Record<string, Given>> = {
  topK: { normalizer: "top_k" }, sigmoidBias: { normalizer: "sigmoid" },
  rotaryDim: { rotary: "half" }, rotaryBase: { rotary: "half" }, rotaryScale: { rotary: "half" },
  t5Bidirectional: { t5Bias: random(1, 8, 2) }, t5MaxDistance: { t5Bias: random(1, 8, 2) },
  prefixLens: { isCausal: true }, queryDocuments: { keyDocuments: { data: new Int32Array(6), shape: [2, 3] } },
  pastKey: { pastValue: random(1, 2, 2, 1, 4) }, pastValue: { pastKey: random(1, 2, 2, 1, 4) },
};
/** A decoder layer has its own name for isCausal. */
const besides = (caller: Caller, name: string): Given =>
  caller.startsWith("TransformerDecoderLayer") && name === "prefixLens" ? { tgtIsCausal: true } : kBeside[name] ?? {};

const thrower = (): never => { throw new TypeError("not to be read"); };
const hostile = <T extends object>(target: T): T => new Proxy(target, { get: thrower, has: thrower, ownKeys: thrower });
const detached = (): Float32Array => {
  const data = new Float32Array(4);
  structuredClone(data.buffer, { transfer: [data.buffer] });
  return data;
};
const kFour = new Float32Array(4);
const deep = Array.from({ length: 100_000 }).reduce((inner: unknown[]) => [inner], []);

/** Tensors that no call takes, and values that are not tensors. */
const kNoTensors: readonly (readonly [string, unknown])[] = [
  ["data that do not fill the shape", { data: kFour, shape: [5] }],
  ["data with a hole", { data: [1, , 3, 4], shape: [4] }], // oxlint-disable-line no-sparse-arrays -- that is what is tested
  ["a size that is NaN", { data: kFour, shape: [NaN] }],
  ["a negative size", { data: kFour, shape: [-4] }],
  ["a size beyond all memory", { data: kFour, shape: [2 ** 53] }],
  ["a shape with a hole", { data: kFour, shape: [, 4] }], // oxlint-disable-line no-sparse-arrays -- that is what is tested
  ["a shape that is none", { data: kFour, shape: "4" }],
  ["a detached buffer", { data: detached(), shape: [4] }],
  ["data that throw", { get data() { return thrower(); }, shape: [4] }],
  ["a shape that throws", { data: kFour, get shape() { return thrower(); } }],
  ["an array that throws", { data: hostile([1, 2, 3, 4]), shape: [4] }],
  ["an object that throws", hostile({})],
  ["views of no numbers", { data: new DataView(new ArrayBuffer(4)), shape: [4] }],
  ["big integers", { data: [1n, 2n], shape: [2] }],
];
const kNonsense: readonly (readonly [string, unknown])[] = [
  ["NaN", NaN], ["Infinity", Infinity], ["-1.5", -1.5], ["\"x\"", "x"], ["{}", {}], ["[]", []], ["a list of null", [null]],
  ["a function", () => 1], ["a symbol", Symbol("x")], ["a bigint", 1n], ["a Map", new Map()], ["no prototype", Object.create(null)],
  ["a list nested deep", deep], ["a list with a hole", [, "x"]], // oxlint-disable-line no-sparse-arrays -- that is what is tested
  ...kNoTensors,
];

/** An absent option, and an absent argument. */
const kNull = ["null", null] as const;

/** Nonsense that does make sense for these options. */
const kSense: Readonly<Record<string, readonly string[]>> = {
  scale: ["-1.5"], sink: ["-1.5"], sigmoidBias: ["-1.5"], min: ["-1.5"], max: ["-1.5"], // any number
  stages: ["[]"], specialTokens: ["[]"], patches: ["[]"], out: ["{}", "no prototype"], // none
  onProgress: ["a function"],
  prefetch: ["\"x\""], // a folder that nothing is in: asked for ahead of need, and not needed
};

async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return "nothing";
}

const kCallers = Object.keys(kCalls) as Caller[];
const kOptions = kCallers.flatMap((caller) => optionNames(caller).map((name) => [caller, name] as const));

/** The options that these calls cannot do without. */
const kRequired: Readonly<Partial<Record<Caller, readonly string[]>>> = {
  explain: ["layer", "head", "query"], explainOutput: ["layer", "head", "query"], sources: ["layer", "head"],
  written: ["layer", "head"], patch: ["layer", "head", "from"],
};

describe("every option of every call", () => {
  test.each(kOptions)("%s: %s", async (caller, name) => {
    const call = (value: unknown): unknown => kCalls[caller]({ ...besides(caller, name), [name]: value } as never);
    for (const [what, value] of kNonsense) {
      const thrown = await thrownBy(() => call(value));
      if (kSense[name]?.includes(what)) {
        expect(thrown, `${what} makes sense`).toBe("nothing");
      } else {
        expect(thrown, what).toBeInstanceOf(HeadlensError);
        const { code, message } = thrown as HeadlensError;
        // A file that does not exist is named by its address.
        expect(message, what).toContain(name === "wasmUrl" && what === "\"x\"" ? "/x/" : name);
        expect(message.length).toBeLessThan(1500);
        expect(["internal", "memory"], `${what}: ${message}`).not.toContain(code);
      }
    }
  });

  test.each(kCallers)("%s: absent is as good as not named", async (caller) => {
    const required = kRequired[caller] ?? ["embedDim", "numHeads", "dimFeedforward"];
    const names = optionNames(caller).filter((name) => !required.includes(name));
    const taken = ["sinusoidalPositions", "alibiSlopes", "t5Bucket"].includes(caller); // made arguments of here
    for (const absent of taken ? [undefined] : [undefined, null]) {
      const none = Object.fromEntries(names.map((name) => [name, absent]));
      expect(await thrownBy(() => kCalls[caller](none as never)), String(absent)).toBe("nothing");
    }
  });

  const kNoOptions = kNonsense.filter(([what]) => !["{}", "no prototype"].includes(what));
  const kTaken = ["sinusoidalPositions", "alibiSlopes", "t5Bucket", "multiheadAttention", "circuits", "compositionScores",
    "transformerEncoderLayer", "transformerDecoderLayer", "attend", "rankHeads", "paths", ...Object.keys(kRequired)]; // made of or with options of ours here
  const kWhole = kCallers.filter((caller) => optionNames(caller).length > 0 && !kTaken.includes(caller));
  test.each(kWhole)("%s: options that are none", async (caller) => {
    for (const [what, options] of kNoOptions) {
      expect(await thrownBy(() => kCalls[caller](options as never)), what).toBeInstanceOf(HeadlensError);
    }
  });
});

/** Every argument that is or may be a tensor. */
const kArguments: readonly (readonly [string, (given: never) => unknown])[] = [
  ["q", (t: TensorLike) => engine.scaledDotProductAttention(t, q, q)],
  ["k", (t: TensorLike) => engine.scaledDotProductAttention(q, t, q)],
  ["v", (t: TensorLike) => engine.scaledDotProductAttention(q, q, t)],
  ["q of maps", (t: TensorLike) => disposed(engine.attentionMaps(t, q))],
  ["k of maps", (t: TensorLike) => disposed(engine.attentionMaps(q, t))],
  ["query", (t: TensorLike) => layer("multihead_attention").forward(t)],
  ["key", (t: TensorLike) => layer("multihead_attention").forward(x, t, x)],
  ["src", (t: TensorLike) => layer("transformer_encoder_layer").forward(t)],
  ["memory", (t: TensorLike) => layer("transformer_decoder_layer").forward(x, t)],
  ["ids", (t: TensorLike) => layer("embedding").forward(t)],
  ["a cache's token", (t: TensorLike) => withCache("multihead_attention", [t], {})],
  ["a state", (t: Record<string, TensorLike>) => layer("multihead_attention").loadStateDict(t)],
  ["a parameter", (t: TensorLike) => layer("multihead_attention").loadStateDict({ ...kState, in_proj_weight: t })],
  ["weights", (t: TensorLike) => engine.headMetrics(t)],
  ["contributions", (t: TensorLike) => engine.headImportance(t)],
  ["output", (t: TensorLike) => engine.pruningCurve(kValues, t)],
  ["layers", (t: TensorLike[]) => engine.rollout(t)],
  ["a layer", (t: TensorLike) => engine.flow([t])],
  ["values", (t: TensorLike) => engine.weightedMap(kWeights, t)],
  ["outWeight", (t: TensorLike) => engine.layerNorms(kWeights, kValues, t)],
  ["circuits' state", (t: Record<string, TensorLike>) => engine.circuits(t, { numHeads: 2 })],
  ["later", (t: Record<string, TensorLike>) => engine.compositionScores(circuitState(), t, { numHeads: 2 })],
  ["matrix", (t: TensorLike) => engine.colorize(t)],
  ["steps", (n: number) => engine.colorbar(n)],
  ["source", (source: string) => engine.loadModel(source)],
  ["input", (input: string) => disposed(model.attend(input))],
  ["ids of a text", (id: number) => disposed(model.attend([id]))],
  ["inputs", (inputs: string[]) => model.rankHeads(inputs)],
  ["an input", (input: string) => model.rankHeads([input])],
  ["layer", (n: number) => attended((attention) => attention.map(n, 0))],
  ["head", (n: number) => attended((attention) => attention.pixels(0, n))],
  ["layer of an overview", (n: number) => attended((attention) => attention.overview(n))],
  ["head of summaries", (n: number) => attended((attention) => attention.rowSummaries(0, n))],
  ["step", (input: string) => {
    const decoding = model.startDecoding();
    try {
      decoding.step(input);
    } finally {
      decoding.dispose();
    }
  }],
];

describe("every argument", () => {
  test.each(kArguments)("%s", async (name, call) => {
    // A text may contain anything.
    const isText = ["input", "an input", "step"].includes(name);
    for (const [what, value] of [...kNonsense, kNull].filter(([what]) => !(isText && what === "\"x\""))) {
      if (value === null && ["output", "key"].includes(name)) continue; // may be left out
      const thrown = await thrownBy(() => call(value as never));
      expect(thrown, what).toBeInstanceOf(HeadlensError);
      expect((thrown as HeadlensError).code, `${what}: ${(thrown as HeadlensError).message}`).not.toBe("internal");
    }
  });

  test("lists with holes are no lists of ids", () => {
    const holed = [1, , 3] as number[]; // oxlint-disable-line no-sparse-arrays -- that is what is tested
    expect(() => model.attend(holed)).toThrow(HeadlensError);
    const layers = [, kWeights] as never; // oxlint-disable-line no-sparse-arrays -- that is what is tested
    expect(() => engine.rollout(layers)).toThrow(HeadlensError);
  });
});

test("data that dispose of what is to read them", () => {
  const made: [string, { dispose(): void }, (data: TensorLike) => unknown][] = [];
  const mha = engine.multiheadAttention(kLayerOptions);
  mha.loadStateDict(kState);
  made.push(["a layer", mha, (data) => mha.forward(data)]);
  const other = engine.multiheadAttention(kLayerOptions);
  made.push(["a layer's parameters", other, (data) => { other.loadStateDict({ ...kState, in_proj_bias: data }); }]);
  const cache = engine.cachedAttention();
  made.push(["a cache", cache, (data) => cache.forward(data, data, data)]);
  const mine = engine.multiheadAttention(kLayerOptions);
  mine.loadStateDict(kState);
  const cached = mine.startCache();
  made.push(["a layer's cache", mine, (data) => cached.forward(data)]);
  for (const [what, thing, call] of made) {
    const data = new Proxy(new Array<number>(24).fill(0.5), {
      get(target, key, receiver): unknown {
        if (key === "23") thing.dispose(); // the last element
        return Reflect.get(target, key, receiver);
      },
    });
    expect(() => call({ data, shape: what.includes("parameters") ? [24] : [1, 3, 8] }), what)
      .toThrow(expect.objectContaining({ code: "disposed" }) as Error);
  }
});

test("after all of it the numbers are the same, and the heap is no larger", async () => {
  const before = engine.scaledDotProductAttention(q, q, q);
  const heap = engine.heapBytes();
  for (const [caller, name] of kOptions.filter(([caller]) => !["load", "loadModel", "rankHeads"].includes(caller))) {
    for (const [, value] of kNonsense) {
      await thrownBy(() => kCalls[caller]({ ...besides(caller, name), [name]: value } as never));
    }
  }
  for (const [, call] of kArguments) for (const [, value] of kNonsense) await thrownBy(() => call(value as never));
  expect(engine.scaledDotProductAttention(q, q, q)).toEqual(before);
  // Memory that is kept until the next call may lie in other blocks now. A leak of any of these thousands of calls would be more.
  expect(engine.heapBytes()).toBeLessThanOrEqual(heap + 512);
});
