// SPDX-License-Identifier: Apache-2.0
/** Between the API's camelCase and the module's snake_case, by rule. The options of each call are listed here. */
import { reading, show, type Spelling, wrong } from "../module/failures.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AttentionOptions, CachedOptions, DecoderLayerOptions, EncoderLayerOptions, ScaledDotProductAttentionOptions,
  TensorLike,
} from "../types/index.js";
import { type AnalysisName, kMemoryStages, kMetrics, kModelMetrics, kStages } from "../types/vocabulary.js";
import * as fields from "./fields.js";
import { checkKnown, kFollowed, kLoad, listOf, presentOptions, type Read } from "./options.js";
import { booleans, floats, type Input, integers, lengths, mask } from "./inputs.js";
import { lengthOf, type Outputs, outputs } from "./tensors.js";

/** Looked up, since small calls are made by the ten thousand in a second. */
const kSnakeNames = new Map<string, string>();

function snakeOf(name: string): string {
  return name.replace(/[A-Z]|(?<=[a-z])[0-9]+$/g, (part) => `_${part.toLowerCase()}`);
}

export function toSnake(name: string): string {
  return kSnakeNames.get(name) ?? snakeOf(name);
}

export function toCamel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The way in which an option travels: as JSON, as a tensor, or not at all, because it says where results go. */
type Travel = "json" | "out" | ((name: string, tensor: TensorLike) => Input);
type Known<T> = Readonly<Record<keyof Required<T>, Travel>>;

const kTensorReaders = {
  booleans, integers, lengths, floats, cells: mask, boolean_list: list(booleans), integer_list: list(integers),
} as const;

/** The options of one of the engine's groups, and how each travels. */
type Fields = Readonly<Record<string, "json" | keyof typeof kTensorReaders>>;
function travels<T extends Fields>(group: T): { [Name in keyof T]: Travel } {
  const entries = Object.entries(group).map(([name, how]): [string, Travel] => [name, how === "json" ? how : kTensorReaders[how]]);
  return Object.fromEntries(entries) as { [Name in keyof T]: Travel };
}

const kNotForCache = ["pastKey", "pastValue"] as const;
/** For calls with a cache, in which past keys stand already. */
function forCache<T extends object>(known: T): Omit<T, (typeof kNotForCache)[number]> {
  const rest = Object.entries(known).filter(([name]) => !(kNotForCache as readonly string[]).includes(name));
  return Object.fromEntries(rest) as Omit<T, (typeof kNotForCache)[number]>;
}

/** An array of values as a tensor of one dimension. */
function list(read: (name: string, tensor: TensorLike) => Input) {
  return (name: string, values: TensorLike): Input => {
    if (!Array.isArray(values) && !ArrayBuffer.isView(values)) {
      throw wrong("dtype", name, show(values), "an array");
    }
    const length = ArrayBuffer.isView(values) ? lengthOf(values) : (values as readonly unknown[]).length;
    return read(name, { data: values as unknown as readonly number[], shape: [length] });
  };
}

const kAttention: Known<AttentionOptions> = { ...travels(fields.attentionOptions), out: "out" };
const kScaledDotProduct: Known<ScaledDotProductAttentionOptions> = { ...travels(fields.scaledDotProductAttentionOptions), out: "out" };
const kTransformer = travels(fields.transformerLayerOptions);
const kEncoder: Known<EncoderLayerOptions> = { ...travels(fields.encoderLayerOptions), out: "out" };
const kDecoder: Known<DecoderLayerOptions> = { ...travels(fields.decoderLayerOptions), out: "out" };
const kCached: Known<CachedOptions<ScaledDotProductAttentionOptions>> = forCache(kScaledDotProduct);
const kAttentionCache: Known<CachedOptions<AttentionOptions>> = forCache(kAttention);
const kDecoderCache: Known<CachedOptions<DecoderLayerOptions>> = forCache(kDecoder);
const kEncoderCache: Known<CachedOptions<EncoderLayerOptions>> = forCache(kEncoder);
const kAnalysisCallers = Object.fromEntries(
  Object.entries<Fields>(fields.kAnalysisFields).map(([name, group]) => [name, travels(group)]),
) as Record<AnalysisName, Readonly<Record<string, Travel>>>;
const kCallers = {
  "scaledDotProductAttention": kScaledDotProduct, "attentionMaps": travels(fields.attentionMapsOptions),
  "multiheadAttention": travels(fields.multiheadAttentionOptions), "MultiheadAttention.forward": kAttention,
  "transformerEncoderLayer": kTransformer, "TransformerEncoderLayer.forward": kEncoder,
  "transformerDecoderLayer": kTransformer, "TransformerDecoderLayer.forward": kDecoder,
  "embedding": travels(fields.embeddingOptions), "Embedding.forward": travels(fields.embeddingCallOptions),
  "startCache": travels(fields.cacheOptions), "startDecoding": { ...travels(fields.decodingOptions), source: "json" }, "stepMap": travels(fields.stepMapOptions), "CachedAttention.forward": kCached,
  "MultiheadAttention.startCache.forward": kAttentionCache, "TransformerEncoderLayer.startCache.forward": kEncoderCache,
  "TransformerDecoderLayer.startCache.forward": kDecoderCache,
  ...kAnalysisCallers,
  "colorize": travels(fields.colorOptions), "colorbar": travels(fields.colorbarOptions),
  "pixels": travels(fields.pixelsOptions), "map": travels(fields.mapOptions), "rowSummaries": travels(fields.rowSummariesOptions),
  "overview": travels(fields.overviewOptions), "logits": travels(fields.logitsOptions),
  "load": travels(kLoad), "loadModel": travels(kFollowed.loadModel), "attend": travels(kFollowed.attend),
  "again": travels(kFollowed.again), "rankHeads": travels(kFollowed.rankHeads),
  "explain": travels(fields.explainOptions), "explainOutput": travels(fields.explainOutputOptions),
  "sources": travels(fields.sourcesOptions), "contributions": travels(fields.contributionsOptions),
  "predictions": travels(fields.predictionsOptions), "written": travels(fields.writtenOptions),
  "paths": travels(kFollowed.paths), "differenceMap": travels(fields.differenceMapOptions),
  "predictionChanges": travels(fields.predictionChangesOptions),
  "patch": { ...travels(fields.patchOptions), from: "json" },
  "queries": travels(fields.vectorsOptions), "keys": travels(fields.vectorsOptions), "values": travels(fields.vectorsOptions),
} as const;
export type Caller = keyof typeof kCallers;

const kKnown = new Map(Object.entries(kCallers).map(([caller, known]) => [caller, new Set(Object.keys(known))]));
const knownOf = (caller: Caller): ReadonlySet<string> => kKnown.get(caller) as ReadonlySet<string>;

/** The options that a call knows. */
export function optionNames(caller: Caller): string[] {
  return Object.keys(kCallers[caller]);
}

/** Of a head in a model. */
export const kRankMetrics: readonly string[] = [...kMetrics, ...kModelMetrics];

const kCamelNames: ReadonlySet<string> =
  new Set([...Object.values(kCallers).flatMap((known) => Object.keys(known)), ...kStages, ...kMemoryStages]);

for (const name of kCamelNames) kSnakeNames.set(name, snakeOf(name));

/**
 * JSON has no NaN and no functions. Such a value travels as an object with this one member, which shows it. No option takes an
 * object: the module says what was expected, and shows what the member has.
 */
function unsayable(value: unknown): object {
  return { [kUnsayable]: show(value).slice(0, 40) };
}
const kUnsayable = "not JSON";

/** The API's name of what the module calls so: options and stages are in camelCase, the parameters of layers as PyTorch has them. */
export function apiName(name: string): string {
  const camel = toCamel(name);
  return kCamelNames.has(camel) ? camel : name;
}

/** The same in a call with these inputs, which have the call's own names: q, k, v. */
export function namesIn(inputs: readonly Input[]): Spelling {
  return (name) => inputs.find((input) => input.name === name)?.label ?? apiName(name);
}

/** Checks the names of a call's options. */
export function checkOptions<O = Record<string, unknown>>(caller: Caller, options: unknown): Read<O> {
  return checkKnown<O>(caller, options, knownOf(caller));
}

function namesFor(caller: Caller, name: string): readonly string[] | undefined {
  if (name === "metrics") return kMetrics;
  if (name !== "stages") return undefined;
  return caller.startsWith("TransformerDecoderLayer") ? [...kStages, ...kMemoryStages] : kStages;
}

/** A value that the module can be given, with the names in its own words; throws for names that it does not know. */
export function checkJson(caller: Caller, name: string, value: unknown): unknown {
  const known = namesFor(caller, name);
  if (known) {
    const given = listOf<string>(value, (item) => typeof item === "string");
    if (!given) throw new HeadlensError("option", `${name} is ${show(value)}, expected a list of names`);
    const unknown = given.find((item) => !known.includes(item));
    if (unknown !== undefined) {
      throw wrong("option", name, show(unknown), `some of: ${known.join(", ")}`, "names");
    }
    return given.map(toSnake);
  }
  return typeof value === "boolean" || typeof value === "string" || Number.isFinite(value) ? value : unsayable(value);
}

/** Options whose values have been checked, as the module's JSON. Those that are undefined are left out. */
export function toJson(options: Readonly<Record<string, unknown>>): string {
  const json: Record<string, unknown> = {};
  for (const name in options) json[toSnake(name)] = options[name];
  return JSON.stringify(json);
}

export interface Request {
  /** The plain options, as the module's JSON. */
  readonly json: string;
  readonly inputs: readonly Input[];
  readonly out: Outputs | undefined;
}

/** Splits a call's options into the module's JSON, its tensors, and where its results go. */
export function toRequest(caller: Caller, options: unknown): Request {
  const known: Readonly<Record<string, Travel>> = kCallers[caller];
  const json: Record<string, unknown> = {};
  const inputs: Input[] = [];
  let out: Outputs | undefined;
  for (const [name, value] of presentOptions(caller, options, knownOf(caller))) {
    const travel = known[name];
    reading(name, () => {
      if (typeof travel === "function") {
        inputs.push({ ...travel(name, value as TensorLike), name: toSnake(name) });
      } else if (travel === "out") {
        out = outputs(value);
      } else {
        json[toSnake(name)] = checkJson(caller, name, value);
      }
    });
  }
  return { json: JSON.stringify(json), inputs, out };
}

