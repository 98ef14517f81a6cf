// SPDX-License-Identifier: Apache-2.0
/** Runs of a model: their options, the maps and tensors of a run, and further runs of the same input. */
import { apiName, type Caller, checkOptions, toRequest } from "../arguments/names.js";
import { checkAborted, checkFollowed, type Following, listOf, type Read } from "../arguments/options.js";
import { floats, type Input, withOwnView } from "../arguments/inputs.js";
import { expectThere } from "../arguments/tensors.js";
import { guarded, reading, show, showShape, unwrap, within, wrong } from "../module/failures.js";
import type { AttentionHandle, DifferenceHandle, HeadlensModule, RawInput } from "../module/module.js";
import type { Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AgainOptions, AttendOptions, FollowedAgainOptions, FollowedAttendOptions, HeadPatch, HeadPath, Image, LogitsOptions,
  Maybe, ModelAttention, ModelInfo, ModelInput, PatchSource, PathsOptions, PixelsOptions, Tensor, TensorLike,
  VectorsOptions,
} from "../types/index.js";
import { ExplainedAttention, requireLogits } from "./explanations.js";
import { checkIndex, checkRange, ifGiven, isBelow } from "./maps.js";
import { findPaths } from "./paths.js";
import { inTurns } from "./turns.js";

/** The input of a run, as it is shown. */
export interface RunInput {
  readonly ids: readonly number[];
  readonly tokens: readonly string[];
  /** The number of tokens of the whole text. */
  readonly count: number;
  /** The rows and columns of patches of a picture. */
  readonly patches?: readonly [number, number];
  /** The tokens that the encoder of an encoder–decoder read. */
  readonly source?: { readonly ids: readonly number[]; readonly tokens: readonly string[] };
}

/** The model of a run, which outlives it. */
export interface RunModel {
  readonly info: ModelInfo;
  readonly module: HeadlensModule;
  readonly model: Resource<unknown>;
  /** Returns the text of a token. */
  readonly piece: (id: number) => string;
  /** Runs the model on another input, beside a run that may begin in the same way. */
  readonly attendAfter: (
    run: () => AttentionHandle, input: ModelInput, options: unknown,
  ) => WasmModelAttention | Promise<WasmModelAttention>;
}

type Changes = Read<AgainOptions> & Following;

/** Reads the options of a run that are not about its input. */
export function readRun(caller: Caller, options: Changes, info: ModelInfo): { json: string; inputs: Input[] } {
  const { patches, ...rest } = options, changes = { ...rest, signal: undefined, onProgress: undefined };
  const { json, inputs } = reading(caller, () => toRequest("again", changes));
  return { json, inputs: [...inputs, ...patches === undefined ? [] : readPatches(caller, patches, info)] };
}

/** The heads of each attention of a model: their numbers, their width, and the prefix that the module has for their patches. */
interface Heads {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly prefix: string;
}

function headsOf({ layers, heads, headDim: width, encoder }: ModelInfo): Readonly<Record<string, Heads>> {
  const decoder = { layers, heads, width, prefix: "" };
  if (!encoder) return { decoder };
  const own = { layers: encoder.layers, heads: encoder.heads, width: encoder.headDim, prefix: "encoder_" };
  return { decoder, encoder: own, cross: { ...decoder, prefix: "cross_" } };
}

/** Returns the heads of the attention that is meant. Models with one alone take no name. */
export function headsNamed(caller: Caller, name: string, attention: unknown, info: ModelInfo): Heads {
  const all = headsOf(info);
  if (attention === undefined || attention === null) return all.decoder as Heads;
  const found = info.encoder && new Map(Object.entries(all)).get(attention as string);
  if (found) return found;
  const names = Object.keys(all).map(show).join(", ");
  throw within(caller, wrong("option", name, show(attention), info.encoder ? `one of ${names}` : "an encoder–decoder"));
}

/** The places and outputs of patches, for each prefix of their names. */
type Patches = Map<string, { width: number; places: number[]; outputs: number[] }>;

function readPatches(caller: Caller, patches: unknown, info: ModelInfo): Input[] {
  const isPatch = (value: unknown): boolean => typeof value === "object" && value !== null;
  const list = reading("patches", () => listOf<Partial<HeadPatch>>(patches, isPatch));
  if (!list) throw within(caller, wrong("option", "patches", show(patches), "an array of patches, as model.patch gives them"));
  const all: Patches = new Map();
  for (const [i, patch] of list.entries()) reading(`patches[${i}]`, () => { addPatch(caller, `patches[${i}]`, patch, info, all); });
  return [...all].flatMap(([prefix, { width, places, outputs }]) => {
    if (places.length === 0) return [];
    const inputOf = (name: string, dtype: RawInput["dtype"], data: Int32Array | Float32Array, columns: number): Input =>
      ({ name: prefix + name, label: "patches", dtype, data, shape: [data.length / columns, columns], length: data.length });
    return [
      inputOf("patch_places", "i32", Int32Array.from(places), 3),
      inputOf("patch_outputs", "f32", Float32Array.from(outputs), width),
    ];
  });
}

function addPatch(caller: Caller, name: string, patch: Partial<HeadPatch>, info: ModelInfo, to: Patches): void {
  const { layer, head, positions, output, attention } = patch;
  const { layers, heads, width, prefix } = headsNamed(caller, `${name}.attention`, attention, info);
  checkIndex(`${name}.layer`, layer, layers);
  checkIndex(`${name}.head`, head, heads);
  const tokens = listOf<number>(positions, Number.isInteger);
  if (!tokens) throw wrong("option", `${name}.positions`, show(positions), "an array of whole numbers");
  const { data, shape } = withOwnView(floats(`${name}.output`, output as TensorLike));
  const expected = [tokens.length, width];
  if (shape.join() !== expected.join()) {
    throw wrong("shape", `${name}.output`, showShape(shape), `${showShape(expected)}: (positions, headDim)`, "has shape");
  }
  const of = to.get(prefix) ?? { width, places: [], outputs: [] };
  to.set(prefix, of);
  for (const token of tokens) of.places.push(layer as number, head as number, token);
  for (const value of data) of.outputs.push(value);
}

/** Reads what a head of a run gives. */
export function patchOf(source: unknown, info: ModelInfo): HeadPatch {
  const { from, layer, head, positions, attention } = checkOptions<PatchSource<ModelAttention>>("patch", source);
  if (!(from instanceof WasmModelAttention)) throw within("patch", wrong("option", "from", show(from), "a run of a model"));
  const { layers, heads } = headsNamed("patch", "attention", attention, info);
  checkIndex("layer", layer, layers);
  checkIndex("head", head, heads);
  return from.patch(layer, head, positions, attention);
}

/** Makes a run at once, or in turns when it is followed. `begin` begins it, and leaves its layers to be run. */
export function run(
  caller: "attend" | "again", options: unknown, begin: (options: Read<AttendOptions> & Following, atOnce: boolean) => WasmModelAttention,
): WasmModelAttention | Promise<WasmModelAttention> {
  const checked = checkFollowed<AttendOptions>(caller, options);
  if (checked.signal || checked.onProgress) return runInTurns(caller, checked, begin);
  const attention = begin(checked, true);
  attention.next(true);
  return attention;
}

async function runInTurns(
  caller: "attend" | "again", options: Read<AttendOptions> & Following, begin: Parameters<typeof run>[2],
): Promise<WasmModelAttention> {
  checkAborted(caller, options);
  const attention = begin(options, false);
  try {
    await inTurns(caller, options, () => attention.next(false));
    return attention;
  } catch (error) {
    attention.dispose();
    throw error;
  }
}

/** The module counts what was kept of a layer in this order. */
const kKept = ["hidden", "queries", "keys", "values", "heads"] as const;

export class WasmModelAttention extends ExplainedAttention implements ModelAttention {
  readonly tokens: readonly string[];
  readonly ids: readonly number[];
  readonly tokenCount: number;
  declare readonly patches?: readonly [number, number];
  declare readonly sourceTokens?: readonly string[];
  declare readonly sourceIds?: readonly number[];
  readonly #of: RunModel;

  /** The model, for what compares runs. */
  get of(): RunModel {
    return this.#of;
  }

  constructor(handle: AttentionHandle, { ids, tokens, count, patches, source }: RunInput, of: RunModel) {
    super(handle, tokens.length, source?.ids.length ?? 0, of);
    this.tokens = tokens;
    this.ids = ids;
    this.tokenCount = count;
    if (patches) this.patches = patches;
    if (source) {
      this.sourceTokens = source.tokens;
      this.sourceIds = source.ids;
    }
    this.#of = of;
  }

  /** Runs the next piece, or all that are left, and returns the share that is done. A run that fails is given back. */
  next(all: boolean): number {
    try {
      return guarded("attend", () => unwrap(this.held.next(all), apiName));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  pixels(layer: number, head: number, options?: Maybe<PixelsOptions>): Image {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { attention, ...colors } = checkOptions<PixelsOptions>("pixels", options);
    const { first, queries, keys } = this.sizesFor("pixels", attention, layer, head);
    const { causal, windows } = this.#of.info; // the picture of a causal model leaves out what no query may look at
    const mask = causal && first === 0 && { causal, window: windows[layer] ?? 0 };
    const { json } = toRequest("colorize", { ...colors, ...mask });
    const handle = this.held;
    return guarded("pixels", () => {
      const { data } = unwrap(handle.map(first + layer, head, 0, queries, 0, keys, queries, keys, false), apiName);
      return unwrap(this.#of.module.colorize(data, queries, keys, json), apiName);
    });
  }

  allPixels(options?: Maybe<PixelsOptions>): Image[][] {
    void this.held;
    const { count, heads } = this.partOf("allPixels", checkOptions<PixelsOptions>("pixels", options).attention);
    const rowOf = (layer: number): Image[] =>
      Array.from({ length: heads }, (_, head) => this.pixels(layer, head, options));
    return Array.from({ length: count }, (_, layer) => rowOf(layer));
  }

  again(options: FollowedAgainOptions): Promise<ModelAttention>;
  again(options?: Maybe<AgainOptions>): ModelAttention;
  again(options?: Maybe<AgainOptions>): ModelAttention | Promise<ModelAttention> {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    return run("again", options, (checked, atOnce) => {
      const { json, inputs } = readRun("again", checked, this.#of.info);
      const handle = this.held;
      expectThere(inputs);
      const attention = guarded("again", () => unwrap(handle.again(inputs, json, atOnce), apiName));
      const { ids, tokens, tokenCount: count, patches, sourceIds, sourceTokens } = this;
      const source = sourceIds && sourceTokens && { source: { ids: sourceIds, tokens: sourceTokens } };
      const input = { ids, tokens, count, ...(patches && { patches }), ...source };
      return new WasmModelAttention(attention, input, this.#of);
    });
  }

  attend(input: ModelInput, options: FollowedAttendOptions): Promise<ModelAttention>;
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention | Promise<ModelAttention> {
    void this.held;
    return this.#of.attendAfter(() => this.held, input, options);
  }

  logits(options?: Maybe<LogitsOptions>): Tensor {
    void this.held;
    const { rows, layer = -1, head = -1, attention } = checkOptions<LogitsOptions>("logits", options);
    const { info } = this.#of;
    requireLogits("logits", info);
    const needs = (argument: string, expected: string): HeadlensError =>
      new HeadlensError("option", `logits: ${argument} needs ${expected}`, { argument, expected });
    if (head !== -1 && layer === -1) throw needs("head", "layer");
    if (head === -1 && attention !== undefined) throw needs("attention", "head");
    if (head === -1 && layer !== -1) checkIndex("layer", layer, info.layers + 1);
    const first = head === -1 ? 0 : this.sizesFor("logits", attention, layer, head).first;
    const length = info.image ? 1 : this.tokens.length;
    const [begin, end] = ifGiven(rows, () => checkRange("rows", rows, length)) ?? [0, length];
    const handle = this.held;
    return guarded("logits", () => unwrap(handle.logits(first + layer, head, begin, end), apiName));
  }

  hidden(layer: number): Tensor {
    return this.#kept("hidden", layer, this.#of.info.layers + 1);
  }

  queries(layer: number, options?: Maybe<VectorsOptions>): Tensor {
    return this.#vectors("queries", layer, options);
  }

  keys(layer: number, options?: Maybe<VectorsOptions>): Tensor {
    return this.#vectors("keys", layer, options);
  }

  values(layer: number, options?: Maybe<VectorsOptions>): Tensor {
    return this.#vectors("values", layer, options);
  }

  #vectors(name: "queries" | "keys" | "values", layer: number, options: unknown): Tensor {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { attention } = checkOptions<VectorsOptions>(name, options);
    const { first, count } = this.partOf(name, attention);
    return this.#kept(name, layer, count, first);
  }

  /** Gives what was kept of a layer, out of `end` layers that the module has under the numbers from `first` on. */
  #kept(name: (typeof kKept)[number], layer: number, end: number, first = 0): Tensor {
    const handle = this.held;
    checkIndex("layer", layer, end);
    return guarded(name, () => unwrap(handle.kept(kKept.indexOf(name), first + layer), apiName));
  }

  paths(options?: Maybe<PathsOptions>): Promise<HeadPath[]> {
    return findPaths({ handle: () => this.held, info: this.#of.info, owner: this }, options);
  }

  differenceTo(other: WasmModelAttention): DifferenceHandle {
    const { held } = this;
    return guarded("difference", () => unwrap(held.difference(other.held), apiName));
  }

  /** Returns outputs of a head at some tokens, or at all. */
  patch(layer: number, head: number, positions: unknown, attention?: HeadPatch["attention"]): HeadPatch {
    void this.held;
    const { first, count, queries: length } = this.partOf("patch", attention);
    const all = Array.from({ length }, (_, token) => token);
    const chosen = positions === undefined ? all : reading("positions", () => listOf<number>(positions, isBelow(length)));
    if (!chosen?.length) {
      throw within("patch", wrong("value", "positions", show(positions), `tokens of that run, 0 to ${length - 1}`));
    }
    const { data, shape } = this.#kept("heads", layer, count, first), width = shape[2] as number;
    const outputs = new Float32Array(chosen.length * width);
    chosen.forEach((token, i) => {
      const begin = (head * length + token) * width;
      outputs.set(data.subarray(begin, begin + width), i * width);
    });
    const output = { data: outputs, shape: [chosen.length, width] };
    return { layer, head, positions: chosen, output, ...(attention && { attention }) };
  }
}
