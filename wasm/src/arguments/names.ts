// SPDX-License-Identifier: Apache-2.0
/** Between the API's camelCase and the module's snake_case, by rule. Unknown option names end here. */
import { kFiles } from "../files/names.js";
import { reading, show, type Spelling, within, wrong } from "../module/failures.js";
import { builtInFile } from "../platform/own-files.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AttendOptions, AttentionOptions, CachedOptions, DecoderLayerOptions, EncoderLayerOptions, LoadModelOptions,
  LoadOptions, RankOptions, ScaledDotProductAttentionOptions, TensorLike,
} from "../types/index.js";
import { type AnalysisName, kMemoryStages, kMetrics, kModelMetrics, kStages } from "../types/vocabulary.js";
import { kAnalysisFields, kFields } from "./fields.js";
import { booleans, floats, type Input, integers, lengthOf, lengths, mask, type Outputs, outputs } from "./tensors.js";

/** A copy of an array of such items, each read once, for it may be a proxy; undefined of anything else, and of one with holes. */
export function listOf<T>(value: unknown, isItem: (item: unknown) => boolean): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const item of value as unknown[]) {
    if (!isItem(item)) return undefined;
    items.push(item as T);
  }
  return items;
}

/** Returns true when a model's source is one of the models in the package. */
export function isBuiltIn(source: unknown): source is string {
  return typeof source === "string" && builtInFile(source, kFiles.config) !== undefined;
}

/** Returns `source`, or a copy of its list of files. Throws unless a model can come from it. */
export function checkSource(source: unknown): string | URL | readonly File[] {
  if (typeof source === "string" || source instanceof URL) return source;
  const files = reading("source", () => listOf<File>(source, (file) => file instanceof Blob && "name" in file));
  if (files) return files;
  throw wrong("value", "source", show(source), "a built-in model's name, a URL, or Files");
}

/** Options as they are read: what is null was left out. */
export type Read<O> = { readonly [Name in keyof O]: Exclude<O[Name], null> };

/** The options with which a caller follows a long call, and ends it. */
export interface Following {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((...progress: number[]) => void) | undefined;
}

/** The options of a call that can be followed. */
export function checkFollowed<O>(caller: Caller, given: unknown): Read<O> & Following {
  const options = checkOptions<O & Following>(caller, given);
  const { signal, onProgress } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw within(caller, wrong("option", "signal", show(signal), "an AbortSignal"));
  }
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw within(caller, wrong("option", "onProgress", show(onProgress), "a function"));
  }
  return options;
}

/** Throws when the call's signal says so. */
export function checkAborted(caller: Caller, { signal }: Following): void {
  if (signal?.aborted) throw new HeadlensError("aborted", `${caller} was aborted by its signal`);
}

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
function travels<T extends Fields>(fields: T): { [Name in keyof T]: Travel } {
  const entries = Object.entries(fields).map(([name, how]): [string, Travel] => [name, how === "json" ? how : kTensorReaders[how]]);
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

const kAttention: Known<AttentionOptions> = { ...travels(kFields.attentionOptions), out: "out" };
const kScaledDotProduct: Known<ScaledDotProductAttentionOptions> = { ...travels(kFields.scaledDotProductAttentionOptions), out: "out" };
const kTransformer = travels(kFields.transformerLayerOptions);
const kEncoder: Known<EncoderLayerOptions> = { ...travels(kFields.encoderLayerOptions), out: "out" };
const kDecoder: Known<DecoderLayerOptions> = { ...travels(kFields.decoderLayerOptions), out: "out" };
const kCached: Known<CachedOptions<ScaledDotProductAttentionOptions>> = forCache(kScaledDotProduct);
const kAttentionCache: Known<CachedOptions<AttentionOptions>> = forCache(kAttention);
const kDecoderCache: Known<CachedOptions<DecoderLayerOptions>> = forCache(kDecoder);
const kEncoderCache: Known<CachedOptions<EncoderLayerOptions>> = forCache(kEncoder);
const kAnalysisCallers = Object.fromEntries(
  Object.entries<Fields>(kAnalysisFields).map(([name, fields]) => [name, travels(fields)]),
) as Record<AnalysisName, Readonly<Record<string, Travel>>>;
const kLoad: Known<LoadOptions> = { simd: "json", threads: "json", wasm: "json", wasmUrl: "json", worker: "json", prefetch: "json" };
const kLoadModel: Known<LoadModelOptions> = { signal: "json", onProgress: "json" };
const kRankHeads: Known<RankOptions> = { ...travels(kFields.rankOptions), ...kLoadModel };
const kAttend: Known<AttendOptions & Following> =
  { ...travels(kFields.attendOptions), ...kLoadModel, truncate: "json", textPair: "json", patches: "json" };
const kAboutInput = ["segments", "paddingMask", "sourcePaddingMask", "truncate", "textPair"] as const;
/** Of another run of an input. */
const kAgain = Object.fromEntries(
  Object.entries(kAttend).filter(([name]) => !(kAboutInput as readonly string[]).includes(name)),
) as Omit<typeof kAttend, (typeof kAboutInput)[number]>;

const kCallers = {
  "scaledDotProductAttention": kScaledDotProduct, "attentionMaps": travels(kFields.attentionMapsOptions),
  "multiheadAttention": travels(kFields.multiheadAttentionOptions), "MultiheadAttention.forward": kAttention,
  "transformerEncoderLayer": kTransformer, "TransformerEncoderLayer.forward": kEncoder,
  "transformerDecoderLayer": kTransformer, "TransformerDecoderLayer.forward": kDecoder,
  "embedding": travels(kFields.embeddingOptions), "Embedding.forward": travels(kFields.embeddingCallOptions),
  "startCache": travels(kFields.cacheOptions), "startDecoding": { ...travels(kFields.decodingOptions), source: "json" }, "stepMap": travels(kFields.stepMapOptions), "CachedAttention.forward": kCached,
  "MultiheadAttention.startCache.forward": kAttentionCache, "TransformerEncoderLayer.startCache.forward": kEncoderCache,
  "TransformerDecoderLayer.startCache.forward": kDecoderCache,
  ...kAnalysisCallers,
  "colorize": travels(kFields.colorOptions), "colorbar": travels(kFields.colorbarOptions),
  "pixels": travels(kFields.pixelsOptions), "map": travels(kFields.mapOptions), "rowSummaries": travels(kFields.rowSummariesOptions),
  "overview": travels(kFields.overviewOptions), "logits": travels(kFields.logitsOptions),
  "load": kLoad, "loadModel": kLoadModel, "attend": kAttend, "again": kAgain, "rankHeads": kRankHeads,
  "explain": travels(kFields.explainOptions), "explainOutput": travels(kFields.explainOutputOptions),
  "sources": travels(kFields.sourcesOptions), "contributions": travels(kFields.contributionsOptions),
  "predictions": travels(kFields.predictionsOptions), "written": travels(kFields.writtenOptions),
  "paths": { ...travels(kFields.pathsOptions), ...kLoadModel }, "differenceMap": travels(kFields.differenceMapOptions),
  "predictionChanges": travels(kFields.predictionChangesOptions),
  "patch": { ...travels(kFields.patchOptions), from: "json" },
  "queries": travels(kFields.vectorsOptions), "keys": travels(kFields.vectorsOptions), "values": travels(kFields.vectorsOptions),
} as const;
export type Caller = keyof typeof kCallers;

const kKnown = new Map(Object.entries(kCallers).map(([caller, known]) => [caller, new Set(Object.keys(known))]));

/** The options that a call knows. */
export function optionNames(caller: Caller): string[] {
  return Object.keys(kCallers[caller]);
}

/** Of a head in a model. */
export const kRankMetrics: readonly string[] = [...kMetrics, ...kModelMetrics];

export const kCamelNames: ReadonlySet<string> =
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

/** The number of letters that have to be added, removed or changed to make one word of the other (Levenshtein 1966). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; ++j) {
      const changed = (row[j] as number) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row.at(-1) as number;
}

/** The one name that is near: the same letters, perhaps with one or two forgotten, added or mistaken. The module does the same. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const lettersOf = (word: string): string => word.replaceAll("_", "").toLowerCase();
  const letters = lettersOf(name);
  if (letters.length > 40) return undefined;
  const near = known.map((word) => ({ word, distance: distance(letters, lettersOf(word)) }));
  const least = Math.min(...near.map((one) => one.distance));
  const all = near.filter((one) => one.distance === least);
  return least <= Math.min(2, Math.floor(letters.length / 3)) && all.length === 1 ? all[0]?.word : undefined;
}

/** Returns true when an object has a property, of its own or through its class. Properties that every object has do not count. */
function holds(object: object, name: string): boolean {
  return name in object && (Object.hasOwn(object, name) || !(name in Object.prototype));
}

/** The properties of an object of options: all that can be seen in it, and `names`, which getters of a class can hide from a loop. */
export function propertiesOf(options: object, names: ReadonlySet<string>): [string, unknown][] {
  const properties: [string, unknown][] = [];
  const add = (name: string): void => {
    if (holds(options, name)) properties.push([name, options[name as keyof typeof options]]);
  };
  names.forEach(add);
  for (const name in options) if (!names.has(name)) add(name);
  return properties;
}

/** Returns true when an option, or an argument that may be left out, is absent: null, as JSON has it, is as good as undefined. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** The options that are given. Throws unless it is an object whose every key the caller knows. */
function presentOptions(caller: Caller, options: unknown): [string, unknown][] {
  if (isAbsent(options)) return [];
  const known = kKnown.get(caller) as ReadonlySet<string>;
  const present = reading(`${caller}: options`, () => {
    // The options in a Map or a promise would not be seen.
    if (Object.prototype.toString.call(options) !== "[object Object]") {
      throw within(caller, wrong("option", "options", show(options), "an object", "are"));
    }
    return propertiesOf(options, known).filter(([, value]) => !isAbsent(value));
  });
  for (const [name] of present) {
    if (known.has(name)) continue;
    const names = [...known], near = nearest(name, names);
    const expected = near === undefined ? `, expected one of ${names.join(", ")}` : `; did you mean ${near}? Expected one of ${names.join(", ")}`;
    throw new HeadlensError("option", `${caller}: unknown option ${show(name)}${expected}`, { argument: name, expected: near ?? names.join(", ") });
  }
  return present;
}

/** The same, as an object. */
export function checkOptions<O = Record<string, unknown>>(caller: Caller, options: unknown): Read<O> {
  return Object.fromEntries(presentOptions(caller, options)) as Read<O>;
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
  for (const [name, value] of presentOptions(caller, options)) {
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

