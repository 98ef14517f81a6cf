// SPDX-License-Identifier: Apache-2.0
/** Converts the operations, options and tensors of case files to those of the API. */
import type {
  AttentionMask, AttentionResult, AsyncEngine, BooleanMask, Engine, IntegerTensor, TensorLike,
} from "headlens";
import type { FileTensor } from "../safetensors.js";
import { optionNames, toCamel, type Caller } from "../../wasm/src/arguments/names.js";

export type Options = Record<string, unknown>;
export type AnyEngine = Engine | AsyncEngine;
/** Anything that a case may give, right or wrong. The tests check how a call takes it. */
export type AnyTensor = TensorLike | AttentionMask | BooleanMask | IntegerTensor | FileTensor;

/** The operations: the functions that make and run them, and the tensors that a run takes by position. */
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

/** A case with the names of the API. */
export interface Case {
  readonly maker: Caller | undefined;
  readonly call: Caller;
  readonly inputs: readonly (AnyTensor | undefined)[];
  readonly state: Record<string, AnyTensor>;
  readonly makerOptions: Options;
  readonly options: Options;
}

/**
 * Options that the API's maker does not know belong to the call. A tensor that neither knows is a parameter or an
 * error.
 */
export function caseOf(
  op: string, options: Readonly<Options>, tensors: ReadonlyMap<string, AnyTensor>, isParameter = (_: string) => true,
): Case {
  const known = kOps[op];
  if (!known) throw new Error(`no test knows the operation ${op}`);
  const { maker, call } = known;
  const made = new Set(maker ? optionNames(maker) : []);
  const called = new Set(optionNames(call));
  const read: Case = {
    maker, call, inputs: known.tensors.map((name) => tensors.get(name)), state: {}, makerOptions: {}, options: {},
  };
  for (const [name, value] of Object.entries(options)) {
    const camel = toCamel(name);
    const target = made.has(camel) ? read.makerOptions : read.options;
    target[camel] = name === "stages" && Array.isArray(value) ? value.map(inCamel) : value;
  }
  for (const [name, tensor] of tensors) {
    if (known.tensors.includes(name)) continue;
    if (called.has(toCamel(name)) || !isParameter(name)) read.options[toCamel(name)] = tensor;
    else read.state[name] = tensor;
  }
  return read;
}

const inCamel = (name: unknown): unknown => (typeof name === "string" ? toCamel(name) : name);

export interface AnyLayer {
  loadStateDict(state: Record<string, AnyTensor>): unknown;
  forward(...args: readonly unknown[]): AttentionResult | Promise<AttentionResult>;
  dispose(): void;
}

type Makers = Readonly<Partial<Record<Caller, (options: Options) => AnyLayer | Promise<AnyLayer>>>>;

/** The case's layer with its parameters; undefined for an operation without a layer. */
export async function makeLayer(
  engine: AnyEngine, { maker, makerOptions, state }: Case,
): Promise<AnyLayer | undefined> {
  if (!maker) return undefined;
  const layer = await (engine as never as Makers)[maker]?.(makerOptions);
  try {
    await layer?.loadStateDict(state);
  } catch (error) {
    layer?.dispose();
    throw error;
  }
  return layer;
}

/** Runs one call of the case, on its layer if it has one. */
export async function forward(
  engine: AnyEngine, layer: AnyLayer | undefined, { inputs, options }: Case,
): Promise<AttentionResult> {
  if (layer) return layer.forward(...inputs, options);
  const [query, key = query, value = key] = inputs;
  return engine.scaledDotProductAttention(query as TensorLike, key as TensorLike, value as TensorLike, options);
}

export async function run(engine: AnyEngine, problem: Case): Promise<AttentionResult> {
  const layer = await makeLayer(engine, problem);
  try {
    return await forward(engine, layer, problem);
  } finally {
    layer?.dispose();
  }
}
