// SPDX-License-Identifier: Apache-2.0
/** These are the layers with parameters: multi-head attention, the transformer layers around it, and embeddings. */
import { type Caller, checkOptions, apiName, optionNames, type Request, toRequest } from "../arguments/names.js";
import { isAbsent, type Read } from "../arguments/options.js";
import { floats, type Input, lengths } from "../arguments/inputs.js";
import { entriesOf, isTensorLike, kTensor } from "../arguments/tensors.js";
import { guarded, reading, show, unwrap, wrong } from "../module/failures.js";
import type { CacheHandle, HeadlensModule } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AttentionOptions, CachedAttention, CachedOptions, CacheOptions, DecoderLayerCache, DecoderLayerOptions, Embedding,
  EmbeddingCallOptions, EmbeddingOptions, EncoderLayerOptions, IntegerTensor, LayerCache, Maybe, MultiheadAttention,
  MultiheadAttentionOptions, ScaledDotProductAttentionOptions, StateDict, Tensor, TensorLike,
  TransformerDecoderLayer, TransformerEncoderLayer, TransformerLayerOptions,
} from "../types/index.js";
import { Problem, type Results } from "./problem.js";

/** The module names all parameters of a layer so when it was given none. */
const kParameters = "parameters";

/** This operation has parameters. What it holds is taken after the inputs are read, whose getters may have disposed it. */
abstract class WasmParametrized<O> extends HandleResource<Problem> {
  readonly #caller: Caller;
  readonly #names: readonly string[];

  constructor(
    module: HeadlensModule, maker: Caller, caller: Caller, given: unknown, namesOf: (options: Read<O>) => string[],
    engine: Resource<unknown>,
  ) {
    const options = checkOptions<O>(maker, given);
    const { json } = toRequest(maker, options);
    super(maker, () => new Problem(module, maker, json), engine);
    this.#caller = caller;
    this.#names = namesOf(options);
  }

  loadStateDict(state: StateDict): void {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const entries = entriesOf("state", state);
    const given = entries.map(([name]) => name);
    const missing = this.#names.filter((name) => !given.includes(name)).map((name) => `${name} missing`);
    const unexpected = given.filter((name) => !this.#names.includes(name)).map((name) => `${name} unexpected`);
    if (missing.length + unexpected.length > 0) {
      const faults = [...missing, ...unexpected].join(", ");
      const expected = this.#names.join(", ");
      throw new HeadlensError("value", `state: ${faults}; expected ${expected}`, { argument: "state", got: given.join(", "), expected });
    }
    const inputs = entries.map(([name, tensor]) => floats(name, tensor));
    this.held.load(inputs);
  }

  /** Runs the problem; when it finds that it has no parameters, the error says how they come. */
  protected runProblem(caller: Caller, inputs: readonly Input[], request: Omit<Request, "inputs">, cache?: CacheHandle): Results {
    try {
      return this.held.run(caller, inputs, request, cache);
    } catch (error) {
      if (!(error instanceof HeadlensError) || error.argument !== kParameters) throw error;
      throw new HeadlensError(error.code, "nothing was loaded yet: call loadStateDict first", { argument: kParameters });
    }
  }

  protected run(
    tensors: Readonly<Record<string, Maybe<TensorLike>>>, options: unknown, read = floats,
  ): Results {
    const { inputs, ...request } = toRequest(this.#caller, options);
    const given: Input[] = [];
    for (const [name, tensor] of Object.entries(tensors)) if (!isAbsent(tensor)) given.push(read(name, tensor));
    return this.runProblem(this.#caller, [...given, ...inputs], request);
  }
}

abstract class WasmLayer<O> extends WasmParametrized<O> {
  readonly parameterCount = this.held.parameterCount();

  /** Makes a cache of this layer's self-attention. Its `forward` takes the tensors `names`. */
  protected cacheOf(
    module: HeadlensModule, options: unknown, caller: Caller, ...names: readonly string[]
  ): WasmLayerCache {
    const run: CachedRun = (tensors, given, handle) => {
      const { inputs, ...request } = toRequest(caller, causally(caller, given));
      const read = names.map((name, i) => floats(name, tensors[i] as TensorLike));
      return this.runProblem(caller, [...read, ...inputs], request, handle());
    };
    return new WasmLayerCache(module, options, names.length, run, this);
  }
}

/** Decoding is causal unless the caller says otherwise. */
function causally(caller: Caller, options: unknown): object {
  const name = optionNames(caller).includes("tgtIsCausal") ? "tgtIsCausal" : "isCausal";
  return { [name]: true, ...checkOptions(caller, options) };
}

abstract class WasmCache extends HandleResource<CacheHandle> {
  constructor(module: HeadlensModule, options: unknown, owner: Resource<unknown>) {
    const { json } = toRequest("startCache", options);
    super("cache", () => guarded("startCache", () => unwrap(module.createCache(json), apiName)), owner);
  }

  get length(): number {
    return this.held.length();
  }

  reset(): void {
    this.held.reset();
  }
}

type CachedRun = (tensors: readonly TensorLike[], options: unknown, handle: () => CacheHandle) => Results;

/** This is a layer's cache: `forward` takes `count` tensors, and options. */
class WasmLayerCache extends WasmCache {
  readonly #run: CachedRun;
  readonly #count: number;

  constructor(module: HeadlensModule, options: unknown, count: number, run: CachedRun, layer: Resource<unknown>) {
    super(module, options, layer);
    this.#count = count;
    this.#run = run;
  }

  forward(...args: readonly unknown[]): Results {
    return this.#run(args.slice(0, this.#count) as TensorLike[], args[this.#count], () => this.held);
  }
}

export class WasmCachedAttention extends WasmCache implements CachedAttention {
  readonly #problem: Problem;

  constructor(module: HeadlensModule, options: unknown, engine: Resource<unknown>) {
    super(module, options, engine);
    this.#problem = createAttention(module);
  }

  protected override release(handle: CacheHandle): void {
    super.release(handle);
    this.#problem.delete();
  }

  forward(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: Maybe<CachedOptions<ScaledDotProductAttentionOptions>>,
  ): Results {
    const caller = "CachedAttention.forward";
    const { inputs, ...request } = toRequest(caller, causally(caller, options));
    const given = [...queryKeyValue(q, k, v), ...inputs];
    const handle = this.held;
    return this.#problem.run(caller, given, request, handle);
  }
}

/** Creates the module's scaled dot-product attention. */
export function createAttention(module: HeadlensModule): Problem {
  return new Problem(module, "scaledDotProductAttention", "{}");
}

/** Reads its three tensors, which have the API's names in messages and the module's in the call. */
export function queryKeyValue(q: TensorLike, k: TensorLike, v: TensorLike): Input[] {
  return [{ ...floats("q", q), name: "query" }, { ...floats("k", k), name: "key" }, { ...floats("v", v), name: "value" }];
}

/** Returns the names in the state dict of multi-head attention, as PyTorch chooses them. */
function attentionNames(options: Read<MultiheadAttentionOptions>): string[] {
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

/** Returns the names in the state dict of a transformer layer: its attentions' and its other modules'. */
function layerNames(attentions: readonly string[], norms: readonly string[]) {
  return (options: Read<TransformerLayerOptions>): string[] => {
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
  readonly #module: HeadlensModule;

  constructor(module: HeadlensModule, options: MultiheadAttentionOptions, engine: Resource<unknown>) {
    super(module, "multiheadAttention", "MultiheadAttention.forward", options, attentionNames, engine);
    this.#module = module;
  }

  forward(query: TensorLike, ...rest: readonly Maybe<TensorLike | AttentionOptions>[]): Results {
    const { key, value, options } = forwardArguments(rest);
    return this.run({ query, key, value }, options);
  }

  startCache(options?: Maybe<CacheOptions>): LayerCache<AttentionOptions, true> {
    return this.cacheOf(this.#module, options, "MultiheadAttention.startCache.forward", "query");
  }
}

interface ForwardArguments {
  readonly key: Maybe<TensorLike>;
  readonly value: Maybe<TensorLike>;
  readonly options: unknown;
}

/** Sorts the arguments after the query, which are (options), (key, options) or (key, value, options). */
function forwardArguments(rest: readonly unknown[]): ForwardArguments {
  const isTensor = (argument: unknown): boolean => reading("an argument", () => isTensorLike(argument));
  const at = rest.findIndex((argument, i) => i === 2 || (!isAbsent(argument) && !isTensor(argument)));
  if (at >= 0 && rest.slice(at + 1).some((argument) => !isAbsent(argument))) {
    throw wrong("dtype", ["key", "value", "options"][at] as string, show(rest[at]), kTensor);
  }
  const [key, value] = (at < 0 ? rest : rest.slice(0, at)) as Maybe<TensorLike>[];
  return { key, value, options: rest[at] };
}

export class WasmEncoderLayer extends WasmLayer<TransformerLayerOptions> implements TransformerEncoderLayer {
  readonly #module: HeadlensModule;

  constructor(module: HeadlensModule, options: TransformerLayerOptions, engine: Resource<unknown>) {
    const names = layerNames(["self_attn"], ["norm1", "norm2"]);
    super(module, "transformerEncoderLayer", "TransformerEncoderLayer.forward", options, names, engine);
    this.#module = module;
  }

  forward(src: TensorLike, options?: Maybe<EncoderLayerOptions>): Results {
    return this.run({ src }, options);
  }

  startCache(options?: Maybe<CacheOptions>): LayerCache<EncoderLayerOptions> {
    return this.cacheOf(this.#module, options, "TransformerEncoderLayer.startCache.forward", "src");
  }
}

export class WasmDecoderLayer extends WasmLayer<TransformerLayerOptions> implements TransformerDecoderLayer {
  readonly #module: HeadlensModule;

  constructor(module: HeadlensModule, options: TransformerLayerOptions, engine: Resource<unknown>) {
    const names = layerNames(["self_attn", "multihead_attn"], ["norm1", "norm2", "norm3"]);
    super(module, "transformerDecoderLayer", "TransformerDecoderLayer.forward", options, names, engine);
    this.#module = module;
  }

  forward(tgt: TensorLike, memory: TensorLike, options?: Maybe<DecoderLayerOptions>): Results {
    return this.run({ tgt, memory }, options);
  }

  startCache(options?: Maybe<CacheOptions>): DecoderLayerCache {
    return this.cacheOf(this.#module, options, "TransformerDecoderLayer.startCache.forward", "tgt", "memory");
  }
}

export class WasmEmbedding extends WasmParametrized<EmbeddingOptions> implements Embedding {
  constructor(module: HeadlensModule, options: Maybe<EmbeddingOptions>, engine: Resource<unknown>) {
    const names = ({ positions }: Read<EmbeddingOptions>): string[] =>
      ["weight", ...(positions === "learned" ? ["position_embeddings"] : [])];
    super(module, "embedding", "Embedding.forward", options, names, engine);
  }

  forward(ids: IntegerTensor, options?: Maybe<EmbeddingCallOptions>): { output: Tensor } {
    return this.run({ ids }, options, lengths);
  }
}
