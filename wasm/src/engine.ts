// SPDX-License-Identifier: Apache-2.0
import { HeadlensError } from "./errors.js";
import { guarded, show, unwrap } from "./failures.js";
import { loadModel } from "./model.js";
import type { HeadlensModule, ProblemHandle } from "./module.js";
import { inApiWords, toCamel, toRequest, type Caller } from "./names.js";
import type { Platform } from "./platform.js";
import { HandleResource, Resource } from "./resource.js";
import { feed, floats, isTensorLike, type Input } from "./tensors.js";
import type {
  AttentionOptions, AttentionResult, ColorOptions, Engine, EngineInfo, Image, LoadModelOptions, Model, ModelSource,
  MultiheadAttention, MultiheadAttentionOptions, ScaledDotProductAttentionOptions, StateDict, Tensor, TensorLike,
} from "./types.js";

/** One run: inputs in, results out, under the API's names. */
function compute(problem: ProblemHandle, caller: Caller, inputs: readonly Input[], json: string): AttentionResult {
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

export class WasmEngine extends Resource<HeadlensModule> implements Engine {
  readonly info: EngineInfo;
  readonly #platform: Platform;
  #attention: ProblemHandle | undefined;

  constructor(module: HeadlensModule, info: EngineInfo, platform: Platform) {
    super("engine", module);
    this.info = info;
    this.#platform = platform;
  }

  protected override release(): void {
    this.#attention?.delete();
    this.#attention = undefined;
  }

  scaledDotProductAttention(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: ScaledDotProductAttentionOptions,
  ): AttentionResult {
    const module = this.held;
    const { json, inputs } = toRequest("scaledDotProductAttention", options);
    const qkv = [{ ...floats("q", q), name: "query" }, { ...floats("k", k), name: "key" }, { ...floats("v", v), name: "value" }];
    this.#attention ??= unwrap(module.createProblem("scaled_dot_product_attention", "{}"), inApiWords);
    return compute(this.#attention, "scaledDotProductAttention", [...qkv, ...inputs], json);
  }

  multiheadAttention(options: MultiheadAttentionOptions): MultiheadAttention {
    const { json } = toRequest("multiheadAttention", options);
    return guarded("multiheadAttention", () => {
      const problem = unwrap(this.held.createProblem("multihead_attention", json), inApiWords);
      return new WasmMultiheadAttention(problem, options, this);
    });
  }

  async loadModel(source: ModelSource, options?: LoadModelOptions): Promise<Model> {
    return loadModel(this, this.held, this.#platform, source, options);
  }

  colorize(matrix: TensorLike, options?: ColorOptions): Image {
    const { json } = toRequest("colorize", options);
    const { data, shape } = floats("matrix", matrix);
    const [rows, cols] = shape;
    if (shape.length !== 2 || rows === undefined || cols === undefined) {
      throw new HeadlensError("shape", `matrix: shape is ${show(shape)}, expected [rows, cols]`);
    }
    const module = this.held;
    const values = data instanceof Float32Array ? data : Float32Array.from(data);
    return guarded("colorize", () => unwrap(module.colorize(values, rows, cols, json), inApiWords));
  }

  colorbar(steps: number, options?: ColorOptions): Uint8ClampedArray {
    const { json } = toRequest("colorbar", options);
    if (!Number.isInteger(steps) || steps < 1 || steps > 65536) {
      throw new HeadlensError("value", `steps is ${show(steps)}, expected a whole number from 1 to 65536`);
    }
    const module = this.held;
    return guarded("colorbar", () => unwrap(module.colorbar(json, steps), inApiWords));
  }

  heapBytes(): number {
    return this.held.heapBytes();
  }
}

/** The state-dict names of the layer, as PyTorch chooses them. */
function parameterNames(options: MultiheadAttentionOptions): string[] {
  const { embedDim, kdim = embedDim, vdim = embedDim, bias = true, addBiasKv = false } = options;
  const isPacked = kdim === embedDim && vdim === embedDim;
  return [
    ...(isPacked ? ["in_proj_weight"] : ["q_proj_weight", "k_proj_weight", "v_proj_weight"]),
    ...(bias ? ["in_proj_bias"] : []),
    ...(addBiasKv ? ["bias_k", "bias_v"] : []),
    "out_proj.weight",
    ...(bias ? ["out_proj.bias"] : []),
  ];
}

class WasmMultiheadAttention extends HandleResource<ProblemHandle> implements MultiheadAttention {
  readonly parameterCount: number;
  readonly #names: readonly string[];

  constructor(problem: ProblemHandle, options: MultiheadAttentionOptions, engine: WasmEngine) {
    super("multihead attention", problem, engine);
    this.parameterCount = problem.parameterCount();
    this.#names = parameterNames(options);
  }

  loadStateDict(state: StateDict): void {
    const problem = this.held;
    const given = Object.keys(state);
    const missing = this.#names.filter((name) => !given.includes(name));
    const unexpected = given.filter((name) => !this.#names.includes(name));
    if (missing.length + unexpected.length > 0) {
      const faults = [missing.length ? `${missing.join(", ")} missing` : "", unexpected.length ? `${unexpected.join(", ")} unexpected` : ""];
      throw new HeadlensError("value", `state: ${faults.filter(Boolean).join("; ")}; expected ${this.#names.join(", ")}`);
    }
    const inputs = Object.entries(state).map(([name, tensor]) => floats(name, tensor));
    guarded("loadStateDict", () => inputs.forEach((input) => feed(problem, input, inApiWords)));
  }

  forward(query: TensorLike, ...rest: readonly (TensorLike | AttentionOptions | undefined)[]): AttentionResult {
    const problem = this.held;
    const { key, value, options } = forwardArguments(rest);
    const { json, inputs } = toRequest("forward", options);
    const fed = [floats("query", query)];
    if (key) fed.push(floats("key", key));
    if (value) fed.push(floats("value", value));
    return compute(problem, "forward", [...fed, ...inputs], json);
  }
}

/** (options), (key, options) or (key, value, options), after the query. */
function forwardArguments(rest: readonly unknown[]): { key?: TensorLike; value?: TensorLike; options?: unknown } {
  const options = rest.findIndex((argument, i) => i === 2 || (argument !== undefined && !isTensorLike(argument)));
  const [key, value] = (options < 0 ? rest : rest.slice(0, options)) as (TensorLike | undefined)[];
  if (options >= 0 && rest.slice(options + 1).some((argument) => argument !== undefined)) {
    throw new HeadlensError("option", `forward: ${["key", "value", "options"][options]} is ${show(rest[options])}, expected a tensor { data, shape }`);
  }
  return { ...(key && { key }), ...(value && { value }), options: options < 0 ? undefined : rest[options] };
}
