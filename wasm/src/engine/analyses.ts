// SPDX-License-Identifier: Apache-2.0
/** These functions put heads into numbers. Each is one question to the module, whose answer is a tensor or JSON. */
import { apiName, checkOptions, toCamel, toRequest, toSnake } from "../arguments/names.js";
import { isAbsent } from "../arguments/options.js";
import { floats, type Input } from "../arguments/inputs.js";
import { sizeOf } from "../arguments/sizes.js";
import { entriesOf, expectThere } from "../arguments/tensors.js";
import { guarded, reading, show, showShape, unwrap, wrong } from "../module/failures.js";
import type { HeadlensModule } from "../module/module.js";
import { Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type {
  Analyses, CircuitsOptions, CompositionOptions, CompositionScores, FlowOptions, HeadCircuits, HeadImportance,
  HeadMetricsOptions, HeadSimilarityOptions, MapMasks, Maybe, MetricInfo, MetricName, MixingOptions, PruningStep,
  RolloutOptions, StateDict, T5BucketOptions, Tensor, TensorLike, ValueZeroingOptions, WeightedMapOptions,
} from "../types/index.js";
import type { AnalysisName } from "../types/vocabulary.js";

type Tensors = Readonly<Record<string, Maybe<TensorLike>>>;

interface Answer {
  readonly output: Tensor | undefined;
  readonly values: unknown;
}

/** Puts the module's JSON into the API's words. */
function camelKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [toCamel(key), camelKeys(item)]));
}

/** These parameters of attention are part of circuits. A state dict may hold the others beside them. */
const kCircuitNames = ["in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"];
const kOtherNames = ["in_proj_bias", "out_proj.bias", "bias_k", "bias_v"];

function projections(name: string, state: StateDict, prefix: string): Input[] {
  const known = [...kCircuitNames, ...kOtherNames];
  const entries = entriesOf(name, state);
  const unexpected = entries.map(([key]) => key).filter((key) => !known.includes(key));
  if (unexpected.length > 0) {
    const expected = `some of ${known.join(", ")}`;
    throw new HeadlensError("value", `${name}: ${unexpected.join(", ")} unexpected; expected ${expected}`, { argument: name, got: unexpected.join(", "), expected });
  }
  const given = entries.filter(([key, tensor]) => kCircuitNames.includes(key) && !isAbsent(tensor));
  return given.map(([key, tensor]) => floats(prefix + key, tensor));
}

/** Joins the maps of all layers into one tensor [L,H,T,T]. */
function stacked(layers: unknown): Input {
  if (!Array.isArray(layers) || layers.length === 0) {
    throw wrong("dtype", "weights", show(layers), "an array with a tensor (H, T, T) for each layer");
  }
  const inputs = reading("weights", () => Array.from(layers, (layer, i) => {
    const { shape: given, ...input } = floats(`weights[${i}]`, layer as TensorLike);
    const shape = given.length === 4 && given[0] === 1 ? given.slice(1) : given.length === 2 ? [1, ...given] : given;
    return { ...input, shape };
  }));
  const shape = inputs[0]?.shape ?? [];
  const size = sizeOf(shape);
  const odd = inputs.findIndex((input) => input.shape.join() !== shape.join());
  if (odd > 0) {
    throw wrong("shape", `weights[${odd}]`, showShape(inputs[odd]?.shape ?? []), `${showShape(shape)} as weights[0]`, "has shape");
  }
  expectThere(inputs);
  const data = new Float32Array(inputs.length * size);
  inputs.forEach((input, i) => data.set(input.data, i * size));
  return { name: "weights", label: "weights", dtype: "f32", shape: [inputs.length, ...shape], data, length: data.length };
}

export abstract class WasmAnalyses extends Resource<HeadlensModule> implements Analyses {
  constructor(module: HeadlensModule) {
    super("engine", () => module);
  }

  #ask(caller: AnalysisName, tensors: Tensors | readonly Input[], options: unknown): Answer {
    const { json, inputs } = toRequest(caller, options);
    const given = Array.isArray(tensors) ? tensors as readonly Input[]
      : Object.entries(tensors as Tensors).flatMap(([name, tensor]) =>
        isAbsent(tensor) ? [] : [{ ...floats(name, tensor), name: toSnake(name) }]);
    const all = [...given, ...inputs];
    const module = this.held; // it is taken after the caller's data, whose getters may have disposed it
    expectThere(all);
    const answer = guarded(caller, () => unwrap(module.analyze(toSnake(caller), all, json), apiName));
    return { output: answer.tensors.output, values: camelKeys(JSON.parse(answer.values)) };
  }

  #map(caller: AnalysisName, tensors: Tensors | readonly Input[], options: unknown): Tensor {
    return this.#ask(caller, tensors, options).output as Tensor;
  }

  metrics(): MetricInfo[] {
    const { metrics } = this.#ask("metrics", {}, {}).values as { metrics: MetricInfo[] };
    return metrics.map((metric) => ({ ...metric, name: toCamel(metric.name) as MetricInfo["name"] }));
  }

  headMetrics<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number | null>[] {
    return (this.#ask("headMetrics", { weights }, options).values as { heads: Record<M, number | null>[] }).heads;
  }

  headMetricCounts<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number>[] {
    return (this.#ask("headMetricCounts", { weights }, options).values as { heads: Record<M, number>[] }).heads;
  }

  headSimilarity(weights: TensorLike, options?: Maybe<HeadSimilarityOptions>): Tensor {
    return this.#map("headSimilarity", { weights }, options);
  }

  headImportance(contributions: TensorLike, output?: Maybe<TensorLike>): HeadImportance[] {
    return (this.#ask("headImportance", { contributions, output }, {}).values as { heads: HeadImportance[] }).heads;
  }

  pruningCurve(contributions: TensorLike, output?: Maybe<TensorLike>): PruningStep[] {
    return (this.#ask("pruningCurve", { contributions, output }, {}).values as { steps: PruningStep[] }).steps;
  }

  rollout(weights: readonly TensorLike[], options?: Maybe<RolloutOptions>): Tensor {
    return this.#map("rollout", [stacked(weights)], options);
  }

  flow(weights: readonly TensorLike[], options?: Maybe<FlowOptions>): Tensor {
    return this.#map("flow", [stacked(weights)], options);
  }

  weightedMap(weights: TensorLike, values: TensorLike, options?: Maybe<WeightedMapOptions>): Tensor {
    return this.#map("weightedMap", { weights, values }, options);
  }

  layerNorms(weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<MapMasks>): Tensor {
    return this.#map("layerNorms", { weights, values, outWeight }, options);
  }

  mixingRatio(
    weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<MixingOptions>,
  ): (number | null)[] {
    const { values: answer } = this.#ask("mixingRatio", { weights, values, outWeight }, options);
    return (answer as { tokens: (number | null)[] }).tokens;
  }

  valueZeroing(
    weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<ValueZeroingOptions>,
  ): Tensor {
    return this.#map("valueZeroing", { weights, values, outWeight }, options);
  }

  circuits(state: StateDict, options: CircuitsOptions): HeadCircuits[] {
    const answer = this.#ask("circuits", projections("state", state, ""), options);
    return (answer.values as { heads: HeadCircuits[] }).heads;
  }

  compositionScores(earlier: StateDict, later: StateDict, options: CompositionOptions): CompositionScores {
    const tensors = [...projections("earlier", earlier, "earlier."), ...projections("later", later, "later.")];
    return this.#ask("compositionScores", tensors, options).values as CompositionScores;
  }

  sinusoidalPositions(length: number, width: number, offset?: Maybe<number>): Tensor {
    return this.#map("sinusoidalPositions", {}, { length, width, offset });
  }

  alibiSlopes(heads: number): Tensor {
    return this.#map("alibiSlopes", {}, { heads });
  }

  t5Bucket(distance: number, options?: Maybe<T5BucketOptions>): number {
    const given = { ...checkOptions("t5Bucket", options), distance };
    return (this.#ask("t5Bucket", {}, given).values as { bucket: number }).bucket;
  }
}
