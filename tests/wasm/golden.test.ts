// SPDX-License-Identifier: Apache-2.0
/** Every golden case of PyTorch's (tests/golden/make.py), through the installed API, on both builds and both backends. */
import { load, type AsyncEngine, type AttentionResult, type Engine, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { optionNames, toCamel, type Caller } from "../../wasm/src/names.js";
import { scoreNorm } from "../compare.js";
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
/** The operations: what makes them, what runs them, and the tensors that a run takes by place. */
const kOps: Readonly<Record<string, { maker?: Caller; call: Caller; tensors: readonly string[] }>> = {
  scaled_dot_product_attention: { call: "scaledDotProductAttention", tensors: ["query", "key", "value"] },
  multihead_attention: {
    maker: "multiheadAttention",
    call: "MultiheadAttention.forward",
    tensors: ["query", "key", "value"],
  },
  transformer_encoder_layer: {
    maker: "transformerEncoderLayer",
    call: "TransformerEncoderLayer.forward",
    tensors: ["src"],
  },
  transformer_decoder_layer: {
    maker: "transformerDecoderLayer",
    call: "TransformerDecoderLayer.forward",
    tensors: ["tgt", "memory"],
  },
  embedding: { maker: "embedding", call: "Embedding.forward", tensors: ["ids"] },
};

type Options = Record<string, unknown>;
type AnyEngine = Engine | AsyncEngine;

/** A case in the words of the API. */
interface Case {
  readonly maker: Caller | undefined;
  readonly inputs: readonly (TensorLike | undefined)[];
  readonly state: Record<string, TensorLike>;
  readonly makerOptions: Options;
  readonly options: Options;
}

/** What the API's maker does not know belongs to the call; a tensor that neither knows is a parameter. */
function readCase(file: Safetensors): Case {
  const op = kOps[file.metadata.op ?? ""];
  if (!op) throw new Error(`no test knows the operation ${file.metadata.op}`);
  const { maker, call, tensors } = op;
  const made = new Set(maker ? optionNames(maker) : []);
  const called = new Set(optionNames(call));
  const read: Case = {
    maker,
    inputs: tensors.map((name) => file.tensors.get(name)),
    state: {},
    makerOptions: {},
    options: {},
  };
  for (const [name, value] of Object.entries(JSON.parse(file.metadata.options ?? "{}") as Options)) {
    const camel = toCamel(name);
    const target = made.has(camel) ? read.makerOptions : read.options;
    target[camel] = name === "stages" ? (value as string[]).map(toCamel) : value;
  }
  for (const [name, tensor] of file.tensors) {
    if (name.startsWith("expected.") || tensors.includes(name)) continue;
    if (called.has(toCamel(name))) read.options[toCamel(name)] = tensor;
    else read.state[name] = tensor;
  }
  return read;
}

interface AnyLayer {
  loadStateDict(state: Record<string, TensorLike>): unknown;
  forward(...args: readonly unknown[]): AttentionResult | Promise<AttentionResult>;
  dispose(): void;
}

type Makers = Readonly<Partial<Record<Caller, (options: Options) => unknown>>>;

async function run(
  engine: AnyEngine,
  { maker, inputs, state, makerOptions, options }: Case,
  more: Options = {},
): Promise<AttentionResult> {
  const all = { ...options, ...more };
  const [query, key = query, value = key] = inputs;
  if (!maker) return engine.scaledDotProductAttention(query as TensorLike, key as TensorLike, value as TensorLike, all);
  const layer = (await (engine as never as Makers)[maker]?.(makerOptions)) as AnyLayer;
  await layer.loadStateDict(state);
  const result = await layer.forward(...inputs, all);
  layer.dispose();
  return result;
}

async function scoreNormOf(engine: AnyEngine, problem: Case): Promise<number> {
  if (problem.maker === "embedding") return 0;
  const { scores, biasedScores } = await run(engine, problem, {
    backend: "reference",
    stages: ["scores", "biasedScores"],
  });
  return scoreNorm(scores?.data, biasedScores?.data);
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
    const norm = await scoreNormOf(engine, problem);
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
