// SPDX-License-Identifier: Apache-2.0
/** Layers with parameters: multi-head attention, and the transformer layers around it. */
import { HeadlensError } from "./errors.js";
import { guarded, show, unwrap } from "./failures.js";
import type { HeadlensModule, ProblemHandle } from "./module.js";
import { type Caller, inApiWords, toCamel, toRequest, toSnake } from "./names.js";
import { HandleResource, type Resource } from "./resource.js";
import { feed, floats, type Input, isTensorLike, lengths } from "./tensors.js";
import type {
  AttentionOptions, AttentionResult, DecoderLayerOptions, DecoderLayerResult, Embedding, EmbeddingCallOptions,
  EmbeddingOptions, EncoderLayerOptions, MultiheadAttention, MultiheadAttentionOptions, StateDict, Tensor, TensorLike,
  TransformerDecoderLayer, TransformerEncoderLayer, TransformerLayerOptions,
} from "./types.js";

/** One run: inputs in, results out, under the API's names. */
export function compute(
  problem: ProblemHandle, caller: Caller, inputs: readonly Input[], json: string,
): AttentionResult {
  return guarded(caller, () => {
    try {
      for (const input of inputs) feed(problem, input, inApiWords);
    } catch (error) {
      problem.run("{}"); // a run drops its inputs, failed or not: what was fed must not reach the next call
      throw error;
    }
    unwrap(problem.run(json), inApiWords);
    const results: Record<string, Tensor> = {};
    for (const name of problem.outputNames()) results[toCamel(name)] = unwrap(problem.output(name), inApiWords);
    return results as AttentionResult;
  });
}

/** An operation with parameters. */
abstract class WasmParametrized<O> extends HandleResource<ProblemHandle> {
  readonly #caller: Caller;
  readonly #names: readonly string[];

  /** `maker` is the engine's method; the module calls the operation the same in snake_case. */
  constructor(
    module: HeadlensModule, maker: Caller, caller: Caller, options: O, namesOf: (options: O) => string[],
    engine: Resource<unknown>,
  ) {
    const { json } = toRequest(maker, options);
    const problem = guarded(maker, () => unwrap(module.createProblem(toSnake(maker), json), inApiWords));
    super(maker, problem, engine);
    this.#caller = caller;
    this.#names = namesOf(options);
  }

  loadStateDict(state: StateDict): void {
    const problem = this.held;
    if (typeof state !== "object" || (state as unknown) === null) {
      throw new HeadlensError("dtype", `state is ${show(state)}, expected an object of tensors`);
    }
    const given = Object.keys(state);
    const missing = this.#names.filter((name) => !given.includes(name)).map((name) => `${name} missing`);
    const unexpected = given.filter((name) => !this.#names.includes(name)).map((name) => `${name} unexpected`);
    if (missing.length + unexpected.length > 0) {
      const faults = [...missing, ...unexpected].join(", ");
      throw new HeadlensError("value", `state: ${faults}; expected ${this.#names.join(", ")}`);
    }
    const inputs = Object.entries(state).map(([name, tensor]) => floats(name, tensor));
    guarded("loadStateDict", () => inputs.forEach((input) => feed(problem, input, inApiWords)));
  }

  protected run(
    tensors: Readonly<Record<string, TensorLike | undefined>>, options: unknown, read = floats,
  ): AttentionResult {
    const problem = this.held;
    const { json, inputs } = toRequest(this.#caller, options);
    const fed = Object.entries(tensors).flatMap(([name, tensor]) => tensor === undefined ? [] : [read(name, tensor)]);
    return compute(problem, this.#caller, [...fed, ...inputs], json);
  }
}

abstract class WasmLayer<O> extends WasmParametrized<O> {
  readonly parameterCount = this.held.parameterCount();
}

/** The state-dict names of multi-head attention, as PyTorch chooses them. */
function attentionNames(options: MultiheadAttentionOptions): string[] {
  const { embedDim, numHeads, numKvHeads = numHeads, kdim = embedDim, vdim = embedDim, bias = true } = options;
  const isPacked = kdim === embedDim && vdim === embedDim && numKvHeads === numHeads;
  return [
    ...(isPacked ? ["in_proj_weight"] : ["q_proj_weight", "k_proj_weight", "v_proj_weight"]),
    ...(bias ? ["in_proj_bias"] : []),
    ...(options.addBiasKv ? ["bias_k", "bias_v"] : []),
    "out_proj.weight",
    ...(bias ? ["out_proj.bias"] : []),
  ];
}

/** Those of a transformer layer: its attentions' and its other modules'. */
function layerNames(attentions: readonly string[], norms: readonly string[]) {
  return (options: TransformerLayerOptions): string[] => {
    const bias = options.bias === false ? [] : ["bias"];
    const normBias = options.norm === "rms_norm" ? [] : bias;
    return [
      ...attentions.flatMap((attention) => attentionNames(options).map((name) => `${attention}.${name}`)),
      ...["linear1", "linear2"].flatMap((linear) => ["weight", ...bias].map((name) => `${linear}.${name}`)),
      ...norms.flatMap((norm) => ["weight", ...normBias].map((name) => `${norm}.${name}`)),
    ];
  };
}

export class WasmMultiheadAttention extends WasmLayer<MultiheadAttentionOptions> implements MultiheadAttention {
  constructor(module: HeadlensModule, options: MultiheadAttentionOptions, engine: Resource<unknown>) {
    super(module, "multiheadAttention", "MultiheadAttention.forward", options, attentionNames, engine);
  }

  forward(query: TensorLike, ...rest: readonly (TensorLike | AttentionOptions | undefined)[]): AttentionResult {
    const { key, value, options } = forwardArguments(rest);
    return this.run({ query, key, value }, options);
  }
}

interface ForwardArguments {
  readonly key: TensorLike | undefined;
  readonly value: TensorLike | undefined;
  readonly options: unknown;
}

/** (options), (key, options) or (key, value, options), after the query. */
function forwardArguments(rest: readonly unknown[]): ForwardArguments {
  const at = rest.findIndex((argument, i) => i === 2 || (argument !== undefined && !isTensorLike(argument)));
  if (at >= 0 && rest.slice(at + 1).some((argument) => argument !== undefined)) {
    const name = ["key", "value", "options"][at];
    throw new HeadlensError("dtype", `${name} is ${show(rest[at])}, expected a tensor { data, shape }`);
  }
  const [key, value] = (at < 0 ? rest : rest.slice(0, at)) as (TensorLike | undefined)[];
  return { key, value, options: rest[at] };
}

export class WasmEncoderLayer extends WasmLayer<TransformerLayerOptions> implements TransformerEncoderLayer {
  constructor(module: HeadlensModule, options: TransformerLayerOptions, engine: Resource<unknown>) {
    const names = layerNames(["self_attn"], ["norm1", "norm2"]);
    super(module, "transformerEncoderLayer", "TransformerEncoderLayer.forward", options, names, engine);
  }

  forward(src: TensorLike, options?: EncoderLayerOptions): AttentionResult {
    return this.run({ src }, options);
  }
}

export class WasmDecoderLayer extends WasmLayer<TransformerLayerOptions> implements TransformerDecoderLayer {
  constructor(module: HeadlensModule, options: TransformerLayerOptions, engine: Resource<unknown>) {
    const names = layerNames(["self_attn", "multihead_attn"], ["norm1", "norm2", "norm3"]);
    super(module, "transformerDecoderLayer", "TransformerDecoderLayer.forward", options, names, engine);
  }

  forward(tgt: TensorLike, memory: TensorLike, options?: DecoderLayerOptions): DecoderLayerResult {
    return this.run({ tgt, memory }, options);
  }
}

export class WasmEmbedding extends WasmParametrized<EmbeddingOptions | undefined> implements Embedding {
  constructor(module: HeadlensModule, options: EmbeddingOptions | undefined, engine: Resource<unknown>) {
    const names = (): string[] => ["weight", ...(options?.positions === "learned" ? ["position_embeddings"] : [])];
    super(module, "embedding", "Embedding.forward", options, names, engine);
  }

  forward(ids: TensorLike, options?: EmbeddingCallOptions): { output: Tensor } {
    return this.run({ ids }, options, lengths);
  }
}
