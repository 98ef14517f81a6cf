// SPDX-License-Identifier: Apache-2.0
/** Between the API's camelCase and the module's snake_case, by rule. Unknown option names end here. */
import { HeadlensError } from "./errors.js";
import { show } from "./failures.js";
import { booleans, lengths, mask, type Input } from "./tensors.js";
import type {
  AttendOptions, AttentionOptions, ColorOptions, DecoderLayerOptions, EncoderLayerOptions, LoadModelOptions,
  LoadOptions, LogitsOptions, MapOptions, MultiheadAttentionOptions, ScaledDotProductAttentionOptions, Stage,
  TensorLike, TransformerLayerOptions,
} from "./types.js";

/** Whether a model's source is one of the models in the package. */
export function isBuiltIn(source: unknown): boolean {
  return source === "tiny";
}

/** Throws unless `source` is of a kind that a model can come from. */
export function checkSource(source: unknown): asserts source is string | URL | readonly File[] {
  const isFiles = Array.isArray(source) && source.every((file) => file instanceof Blob && "name" in file);
  if (typeof source !== "string" && !(source instanceof URL) && !isFiles) {
    throw new HeadlensError("value", `source is ${show(source)}, expected a built-in model's name, a URL, or Files`);
  }
}

export function checkLoadModelOptions(given: unknown): LoadModelOptions {
  const options: LoadModelOptions = checkOptions("loadModel", given);
  const { signal, onProgress } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new HeadlensError("option", `loadModel: signal is ${show(signal)}, expected an AbortSignal`);
  }
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new HeadlensError("option", `loadModel: onProgress is ${show(onProgress)}, expected a function`);
  }
  return options;
}

export function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function toCamel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** How an option travels: as JSON, or as a tensor of its own. */
type Travel = "json" | ((name: string, tensor: TensorLike) => Input);
type Known<T> = Readonly<Record<keyof Required<T>, Travel>>;

const kInner = {
  causalAlignment: "json", conventions: "json", maskTrue: "json", fullyMasked: "json", softcap: "json", softcapOrder: "json",
  needWeights: "json", averageAttnWeights: "json", stages: "json", backend: "json", seed: "json",
} as const;
const kAttention: Known<AttentionOptions> = {
  ...kInner, attnMask: mask, keyPaddingMask: booleans, validLens: lengths, isCausal: "json",
};
const kScaledDotProduct: Known<ScaledDotProductAttentionOptions> = {
  ...kAttention, scale: "json", dropoutP: "json", enableGqa: "json", gqaOrder: "json",
};
const kMultihead: Known<MultiheadAttentionOptions> = {
  embedDim: "json", numHeads: "json", kdim: "json", vdim: "json", bias: "json", addBiasKv: "json", addZeroAttn: "json", batchFirst: "json", dropoutP: "json",
};
const kTransformer: Known<TransformerLayerOptions> = {
  embedDim: "json", numHeads: "json", dimFeedforward: "json", activation: "json", layerNormEps: "json", normFirst: "json",
  bias: "json", batchFirst: "json",
};
const kEncoder: Known<EncoderLayerOptions> = {
  ...kInner, isCausal: "json", srcMask: mask, srcKeyPaddingMask: booleans, validLens: lengths,
};
const kDecoder: Known<DecoderLayerOptions> = {
  ...kInner, tgtIsCausal: "json", tgtMask: mask, tgtKeyPaddingMask: booleans,
  memoryIsCausal: "json", memoryMask: mask, memoryKeyPaddingMask: booleans,
};
const kColor: Known<ColorOptions> = { colormap: "json", theme: "json", min: "json", max: "json", causal: "json" };
const kMap: Known<MapOptions> = { rows: "json", pool: "json" };
const kLoad: Known<LoadOptions> = { simd: "json", threads: "json", wasmUrl: "json", worker: "json" };
const kLoadModel: Known<LoadModelOptions> = { signal: "json", onProgress: "json" };
const kAttend: Known<AttendOptions> = {
  logits: "json", truncate: "json", textPair: "json", segments: "json", paddingMask: "json", headMask: "json",
  zeroedToken: "json", zeroedLayer: "json",
};
const kLogits: Known<LogitsOptions> = { rows: "json" };

const kCallers = {
  "scaledDotProductAttention": kScaledDotProduct,
  "multiheadAttention": kMultihead, "MultiheadAttention.forward": kAttention,
  "transformerEncoderLayer": kTransformer, "TransformerEncoderLayer.forward": kEncoder,
  "transformerDecoderLayer": kTransformer, "TransformerDecoderLayer.forward": kDecoder,
  "colorize": kColor, "colorbar": kColor, "pixels": kColor, "map": kMap, "load": kLoad, "loadModel": kLoadModel, "attend": kAttend, "logits": kLogits,
} as const;
export type Caller = keyof typeof kCallers;

const kStages: Readonly<Record<Stage, true>> = {
  q: true, k: true, v: true,
  scores: true, scaledScores: true, cappedScores: true, biasedScores: true, maskedScores: true,
  weights: true, droppedWeights: true, lse: true, headOutputs: true, headContributions: true,
};

const kCamelNames = new Set([...Object.values(kCallers), kStages].flatMap((known) => Object.keys(known)));

/** A message of the module in the API's words: option and stage names become camelCase; values and parameter names stay. */
export function inApiWords(message: string): string {
  return message.replace(/[a-z]+(?:_[a-z0-9]+)+/g, (word) => kCamelNames.has(toCamel(word)) ? toCamel(word) : word);
}

/** Throws unless `options` is an object whose every key the caller knows; gives the present ones. */
export function checkOptions(caller: Caller, options: unknown): Record<string, unknown> {
  if (options === undefined) return {};
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new HeadlensError("option", `${caller}: options are ${show(options)}, expected an object`);
  }
  const known = Object.keys(kCallers[caller]);
  const present = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name] of present) {
    if (!known.includes(name)) throw new HeadlensError("option", `${caller}: unknown option ${show(name)}, expected one of ${known.join(", ")}`);
  }
  return Object.fromEntries(present);
}

/** What the module takes on trust. */
const kChoices: Readonly<Record<string, readonly string[]>> = {
  colormap: ["sequential", "diverging"], theme: ["light", "dark"], stages: Object.keys(kStages),
};
const kNumbers = ["min", "max"];
const kFlags = ["causal"];

/** JSON has no NaN, no Infinity and no functions; it would drop them without a word. */
function checkJson(name: string, value: unknown): void {
  const refuse = (expected: string): never => {
    throw new HeadlensError("option", `${name} is ${show(value)}, expected ${expected}`);
  };
  const choices = kChoices[name];
  if (choices) {
    const isKnown = (name === "stages" ? Array.isArray(value) : typeof value === "string")
      && [value].flat().every((item) => choices.includes(item as string));
    if (!isKnown) refuse(`${name === "stages" ? "a list of" : "one of"} ${choices.join(", ")}`);
  } else if (kNumbers.includes(name)) {
    if (!Number.isFinite(value)) refuse("a finite number");
  } else if (kFlags.includes(name)) {
    if (typeof value !== "boolean") refuse("true or false");
  } else if (typeof value !== "boolean" && typeof value !== "string" && !Number.isFinite(value)) {
    refuse("a finite number, a boolean or a string");
  }
}

export interface Request {
  /** The plain options, as the module's JSON. */
  readonly json: string;
  readonly inputs: readonly Input[];
}

/** Splits a call's options into the module's JSON and its tensors. */
export function toRequest(caller: Caller, options: unknown): Request {
  const known: Readonly<Record<string, Travel>> = kCallers[caller];
  const json: Record<string, unknown> = {};
  const inputs: Input[] = [];
  for (const [name, value] of Object.entries(checkOptions(caller, options))) {
    const travel = known[name];
    if (typeof travel === "function") {
      inputs.push({ ...travel(name, value as TensorLike), name: toSnake(name) });
    } else {
      checkJson(name, value);
      json[toSnake(name)] = Array.isArray(value) ? value.map((item: string) => toSnake(item)) : value;
    }
  }
  return { json: JSON.stringify(json), inputs };
}

