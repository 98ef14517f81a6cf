// SPDX-License-Identifier: Apache-2.0
/** Every golden case of PyTorch's (tests/golden/make.py), through the installed API, on both builds and both backends. */
import { load, type AsyncEngine, type AttentionResult, type Engine, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toCamel } from "../../wasm/src/names.js";
import {
  expectClose,
  goldenCases,
  kBuilds,
  kEpsilon,
  kGolden,
  maxNorm,
  readSafetensors,
  type Safetensors,
} from "./support.js";

const kCases = goldenCases();
const kLayers = ["multihead_attention", "transformer_encoder_layer", "transformer_decoder_layer"];
/** Options of the layers' makers; the others belong to a call. */
const kMakerOptions = [
  "embedDim",
  "numHeads",
  "kdim",
  "vdim",
  "bias",
  "addBiasKv",
  "addZeroAttn",
  "batchFirst",
  "dimFeedforward",
  "activation",
  "layerNormEps",
  "normFirst",
];
const kInputs = ["query", "key", "value", "src", "tgt", "memory"];

type Options = Record<string, unknown>;
type AnyEngine = Engine | AsyncEngine;

/** A case in the words of the API. */
interface Case {
  readonly op: string;
  readonly inputs: Record<string, TensorLike>;
  readonly state: Record<string, TensorLike>;
  readonly maker: Options;
  readonly options: Options;
}

function readCase(file: Safetensors): Case {
  const given = JSON.parse(file.metadata.options ?? "{}") as Options;
  const read: Case = { op: file.metadata.op ?? "", inputs: {}, state: {}, maker: {}, options: {} };
  for (const [name, value] of Object.entries(given)) {
    const camel = toCamel(name);
    const target = kLayers.includes(read.op) && kMakerOptions.includes(camel) ? read.maker : read.options;
    target[camel] = name === "stages" ? (value as string[]).map(toCamel) : value;
  }
  for (const [name, tensor] of file.tensors) {
    if (name.startsWith("expected.")) continue;
    if (kInputs.includes(name)) read.inputs[name] = tensor;
    else if (/(_mask|valid_lens)$/.test(name)) read.options[toCamel(name)] = tensor;
    else read.state[name] = tensor;
  }
  return read;
}

interface AnyLayer {
  loadStateDict(state: Record<string, TensorLike>): unknown;
  forward(...args: readonly unknown[]): AttentionResult | Promise<AttentionResult>;
  dispose(): void;
}

async function run(
  engine: AnyEngine,
  { op, inputs, state, maker, options }: Case,
  more: Options = {},
): Promise<AttentionResult> {
  const all = { ...options, ...more };
  const { query, key, value, src, tgt, memory } = inputs;
  if (op === "scaled_dot_product_attention" && query && key && value)
    return engine.scaledDotProductAttention(query, key, value, all);
  const make = toCamel(op) as "multiheadAttention" | "transformerEncoderLayer" | "transformerDecoderLayer";
  const layer = (await engine[make](maker as never)) as unknown as AnyLayer;
  await layer.loadStateDict(state);
  const args = {
    multiheadAttention: [query, key, value, all],
    transformerEncoderLayer: [src, all],
    transformerDecoderLayer: [tgt, memory, all],
  }[make];
  const result = await layer.forward(...args);
  layer.dispose();
  return result;
}

/** Errors of weights, and of what they blend, grow with the largest score: exp(x + δ) = exp(x)(1 + δ). */
async function scoreNorm(engine: AnyEngine, problem: Case): Promise<number> {
  const { scores, biasedScores } = await run(engine, problem, {
    backend: "reference",
    stages: ["scores", "biasedScores"],
  });
  return Math.max(maxNorm(scores?.data ?? []), maxNorm(biasedScores?.data ?? []));
}

/** How many roundings of the largest result the backend may be away. */
const kFactors = { reference: 4, simd: 16 } as const;

describe.each(kBuilds)("golden cases on the %s build", (simd) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await load({ simd });
  });
  afterAll(() => engine.dispose());

  test("is the build asked for", () => {
    expect(engine.info).toMatchObject({ simd, threads: 1, target: "WASM" });
  });

  test.each(kCases)("%s", async (name) => {
    const file = readSafetensors(`${kGolden}/cases/${name}`);
    const problem = readCase(file);
    const norm = await scoreNorm(engine, problem);
    const expected = [...file.tensors].filter(([key]) => key.startsWith("expected."));
    expect(expected.length).toBeGreaterThan(0);
    for (const [backend, factor] of Object.entries(kFactors)) {
      const results: Partial<Record<string, AttentionResult["output"]>> = await run(engine, problem, { backend });
      // Nothing comes back that was not asked for.
      expect(Object.keys(results).sort()).toEqual(
        expected.map(([key]) => toCamel(key.slice("expected.".length))).sort(),
      );
      for (const [key, tensor] of expected) {
        const tolerance = factor * kEpsilon * (1 + norm) * Math.max(maxNorm(tensor.data), 1e-3);
        expectClose(`${backend} ${key}`, results[toCamel(key.slice("expected.".length))], tensor, tolerance);
      }
    }
  });
});

describe("golden cases in a worker", () => {
  let here: Engine;
  let there: AsyncEngine;
  beforeAll(async () => {
    here = await load({ simd: "baseline" });
    there = await load({ simd: "baseline", worker: true });
  });
  afterAll(() => {
    here.dispose();
    there.dispose();
  });

  test.each(kCases)("%s: the very same numbers", async (name) => {
    const problem = readCase(readSafetensors(`${kGolden}/cases/${name}`));
    expect(await run(there, problem)).toEqual(await run(here, problem));
  });
});
