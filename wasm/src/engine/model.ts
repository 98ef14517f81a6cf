// SPDX-License-Identifier: Apache-2.0
/** Models in Hugging Face form are loaded from their files, read texts or pictures, and show the maps of their heads. */
import { apiName, checkOptions, toRequest } from "../arguments/names.js";
import { checkFollowed, type Following, listOf, type Read } from "../arguments/options.js";
import { floats, withOwnView } from "../arguments/inputs.js";
import { type Bytes, bytesOf, expectThere, isTensorLike } from "../arguments/tensors.js";
import { type FolderRules, kMaxWeights, ModelFolder, type OpenFolder, type Sink } from "../files/model-folder.js";
import { kFiles } from "../files/names.js";
import { guarded, reading, show, showShape, surplus, unwrap, within, wrong } from "../module/failures.js";
import type { DecodingHandle, HeadlensModule, ModelHandle, NumberArray, RawInput } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import type { Platform } from "../platform/platform.js";
import { readTokenizer } from "../tokenizer/read.js";
import type { Encoded, TextTokenizer } from "../tokenizer/tokenizer.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AttendOptions, Decoding, DecodingOptions, DecodingStep, FollowedAttendOptions, HeadPatch, ImageLike, LayerWeights,
  LoadModelOptions, Maybe, MetricName, Model, ModelAttention, ModelInfo, ModelInput, ModelMetricName, ModelSource,
  PatchSource, RankedHead, RankOptions, SourceAndTarget, StepMapOptions, Tensor, TensorLike,
} from "../types/index.js";
import { requireLogits } from "./explanations.js";
import { rankHeads } from "./head-finder.js";
import { checkIndex, ifGiven, isBelow } from "./maps.js";
import { patchOf, readRun, run, type RunInput, WasmModelAttention } from "./model-attention.js";

function needs(argument: string, expected: string): HeadlensError {
  return new HeadlensError("option", `${argument} needs ${expected}`, { argument, expected });
}

function parse(name: string, text: string): object {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // It is no object, and is refused as such.
  }
  if (typeof json !== "object" || json === null) throw wrong("format", name, show(text), "a JSON object");
  return json;
}

/** Copies a file's bytes to where the module wants them. The view is taken anew for each piece, as memory may have moved in between. */
function sinkOf(handle: ModelHandle, byteLength: number | undefined): Sink {
  const file = unwrap(handle.beginFile(byteLength ?? -1), apiName);
  return (piece) => {
    for (let at = 0; at < piece.length;) {
      const next = unwrap(handle.next(file), apiName);
      if (next.length === 0) throw surplus("safetensors", piece.length - at);
      const part = piece.subarray(at, at + next.length);
      next.set(part);
      unwrap(handle.advance(file, part.length), apiName);
      at += part.length;
    }
  };
}

/** An input becomes numbers by a text's tokenizer, or by the text of a preprocessor_config.json (empty when there is none). */
type Reader = TextTokenizer | string;

async function readReader(
  folder: ModelFolder, files: OpenFolder, isPicture: boolean, platform: Platform,
): Promise<Reader> {
  if (!isPicture) {
    const file = await folder.require(files.tokenizer, kFiles.tokenizer);
    const json = parse(kFiles.tokenizer, await folder.readText(file));
    return readTokenizer(json, () => platform.tokenizers(() => platform.ownFile("tokenizers.js")));
  }
  await folder.skip(files.tokenizer);
  const processor = await folder.openProcessor();
  return processor ? folder.readText(processor) : "";
}

function infoOf({ name, url }: ModelFolder, handle: ModelHandle): ModelInfo {
  const {
    imageSize, patchSize, channels, prefix, family, encoderLayers, encoderHeads, encoderHeadDim, encoderScale,
    startToken, labels, ...sizes
  } = handle.info();
  const encoder = encoderLayers > 0 && {
    encoder: { layers: encoderLayers, heads: encoderHeads, headDim: encoderHeadDim, scale: encoderScale, startToken },
  };
  const image = imageSize > 0 && { image: { size: imageSize, patchSize, channels, prefix: prefix.map((token) => `[${token}]`) } };
  return {
    name, ...(url !== undefined && { url }), family: family as ModelInfo["family"], ...sizes, ...encoder, ...image, ...(labels.length > 0 && { labels }),
  };
}

/** The engine that a model is loaded into. */
interface Loading {
  /** Throws when the engine is disposed, which may happen at any time while files are on their way. */
  readonly module: () => HeadlensModule;
  readonly owner: Resource<unknown>;
  readonly platform: Platform;
}

/** Fetches a model's files and builds the model. */
export async function loadModel(
  { module, owner, platform }: Loading, source: ModelSource, options?: Maybe<LoadModelOptions>,
): Promise<Model> {
  module(); // a disposed engine is reported before anything that is wrong with the arguments
  const rules: FolderRules = {
    shardNames: (index) => guarded("loadModel", () => unwrap(module().shardNames(index))),
    refuseOtherFormats: (missing, names) => {
      guarded("loadModel", () => unwrap(module().refuseOtherFormats(missing, names)));
    },
  };
  const checked = checkFollowed<LoadModelOptions>("loadModel", options);
  if (typeof (checked.keep ?? false) !== "boolean") {
    throw within("loadModel", wrong("option", "keep", show(checked.keep), "a boolean"));
  }
  const folder = new ModelFolder(source, platform, rules, checked);
  let handle: ModelHandle | undefined;
  let isRead = false;
  try {
    const files = await folder.open();
    const config = await folder.readText(files.config);
    const into = module();
    const made = handle = guarded("loadModel", () => unwrap(into.createModel(config, kMaxWeights), apiName));
    const reader = await readReader(folder, files, made.info().imageSize > 0, platform);
    await folder.readWeights(files.weights, (byteLength) => sinkOf(made, byteLength));
    isRead = true;
    module();
    guarded("loadModel", () => unwrap(made.build(), apiName));
    const model = new WasmModel(made, infoOf(folder, made), into, reader, owner);
    handle = undefined;
    return model;
  } finally {
    handle?.delete();
    folder.close(isRead);
  }
}

/** An input as it was read. */
interface Reading extends RunInput {
  readonly inputs: readonly RawInput[];
}

/** A handle that begins runs. */
type Attending = Pick<ModelHandle, "attend">;

class WasmModel extends HandleResource<ModelHandle> implements Model {
  readonly info: ModelInfo;
  readonly #module: HeadlensModule;
  readonly #reader: Reader;

  constructor(
    handle: ModelHandle, info: ModelInfo, module: HeadlensModule, reader: Reader, engine: Resource<unknown>,
  ) {
    super("model", () => handle, engine);
    this.#module = module;
    this.info = info;
    this.#reader = reader;
  }

  attend(input: ModelInput, options: FollowedAttendOptions): Promise<ModelAttention>;
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention | Promise<ModelAttention> {
    return this.#attend(() => this.held, input, options);
  }

  #attend(
    by: () => Attending, input: ModelInput, options: unknown,
  ): WasmModelAttention | Promise<WasmModelAttention> {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    return run("attend", options, (checked, atOnce) => this.#begin(by, input, checked, atOnce));
  }

  /** Begins a run, whose layers are yet to be run, by this model or by another run of it. */
  #begin(
    by: () => Attending, input: ModelInput, options: Read<AttendOptions> & Following, atOnce: boolean,
  ): WasmModelAttention {
    const { segments, paddingMask, sourcePaddingMask, truncate, textPair, ...changes } = options;
    const checked = checkTextOptions({ segments, paddingMask, sourcePaddingMask, truncate, textPair }, this.info);
    const reading = this.#read(input, checked);
    const { json, inputs } = readRun("attend", changes, this.info);
    const handle = by(); // it is taken after what the caller gave, whose getters may have disposed it
    expectThere(inputs);
    const attention = guarded("attend", () => unwrap(handle.attend([...reading.inputs, ...inputs], json, atOnce), apiName));
    const { info } = this;
    const piece = (id: number): string => this.#tokenizer("text")?.piece(id) ?? info.labels?.[id] ?? String(id);
    return new WasmModelAttention(attention, reading, {
      info, module: this.#module, model: this, piece, attendAfter: (...asked) => this.#attend(...asked),
    });
  }

  patch(source: PatchSource<ModelAttention>): HeadPatch {
    void this.held;
    return patchOf(source, this.info);
  }

  startDecoding(options?: Maybe<DecodingOptions>): Decoding {
    const { source, ...kept } = checkOptions<DecodingOptions>("startDecoding", options);
    const { json, inputs } = toRequest("startDecoding", kept);
    if (this.info.causal) requireLogits("startDecoding", this.info);
    const read = ifGiven(source, () => reading("source", () => this.#readSource(source, {}).inputs)) ?? [];
    const handle = this.held; // it is taken after the caller's options, whose getters may have disposed it
    expectThere(inputs);
    const decoding = guarded("startDecoding", () => unwrap(handle.startDecoding([...read, ...inputs], json), apiName));
    return new WasmDecoding(decoding, (input, isFirst) => this.#encodeTarget(input, isFirst), this.info, this);
  }

  layerWeights(layer: number): LayerWeights {
    const handle = this.held;
    checkIndex("layer", layer, this.info.layers);
    const { q, k, v, o, norm } = guarded("layerWeights", () => unwrap(handle.layerWeights(layer), apiName));
    const state = { q_proj_weight: q, k_proj_weight: k, v_proj_weight: v, "out_proj.weight": o };
    return { state, ...(norm && { norm }) };
  }

  embedding(): Tensor | undefined {
    const handle = this.held;
    return guarded("embedding", () => unwrap(handle.embedding(), apiName));
  }

  unembedding(): Tensor | undefined {
    const handle = this.held;
    return guarded("unembedding", () => unwrap(handle.unembedding(), apiName));
  }

  async rankHeads<M extends MetricName | ModelMetricName>(
    inputs: readonly ModelInput[], options?: Maybe<RankOptions<M>>,
  ): Promise<RankedHead<M>[]> {
    const read = (input: unknown): readonly RawInput[] => this.#read(input, {}).inputs;
    void this.held;
    return rankHeads({ handle: () => this.held, info: this.info, owner: this, read }, inputs, options);
  }

  #read(input: unknown, options: TextOptions): Reading {
    return reading("input", () => {
      if (this.info.encoder) return this.#readPair(input, options);
      return this.info.image ? this.#readPicture(input) : this.#readText(input, options);
    });
  }

  /** Reads what an encoder–decoder reads. */
  #readPair(input: unknown, options: TextOptions): Reading {
    const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
    const { source, target } = (isObject ? input : {}) as Partial<SourceAndTarget>;
    if (source === undefined || target === undefined) {
      throw wrong("dtype", "input", show(input), "{ source, target }, each a text or an array of token ids");
    }
    const { sourcePaddingMask, ...rest } = options;
    const read = this.#readSource(source, sourcePaddingMask ? { paddingMask: sourcePaddingMask } : {});
    const whole = this.#readText(target, rest);
    return { ...whole, source: read, inputs: [...read.inputs, ...whole.inputs] };
  }

  /** Reads a text of the encoder under the names that its tensors have. */
  #readSource(source: unknown, options: TextOptions): Reading {
    const { ids, tokens } = this.#encode(source, true, "source");
    const { paddingMask } = options;
    if (paddingMask && paddingMask.length !== ids.length) {
      throw within("attend", wrong("shape", "sourcePaddingMask", `[${paddingMask.length}]`, `one for each of ${ids.length} tokens`));
    }
    const inputs = [listed("source", "i32", Int32Array.from(ids))];
    if (paddingMask) inputs.push(listed("source_padding_mask", "u8", Uint8Array.from(paddingMask, Number)));
    return { ids, tokens, inputs, count: ids.length };
  }

  /** A target begins with the token that its decoder starts from, and has no other special token. */
  #encodeTarget(input: unknown, isFirst: boolean): Encoded {
    const { encoder } = this.info;
    if (!encoder || typeof input !== "string") return this.#encode(input, isFirst);
    const encoded = this.#encode(input, false);
    if (!isFirst) return encoded;
    const first = this.#encode([encoder.startToken], false);
    return { ...encoded, ids: [...first.ids, ...encoded.ids], tokens: [...first.tokens, ...encoded.tokens] };
  }

  #readText(input: unknown, options: TextOptions): Reading {
    const { textPair, segments, paddingMask, truncate = false } = options;
    if (textPair !== undefined && (typeof input !== "string" || this.info.causal)) {
      throw within("attend", needs("textPair", "a text, and a model that reads whole texts"));
    }
    if (typeof input === "string" && (segments ?? paddingMask)) {
      throw within("attend", needs(segments ? "segments" : "paddingMask", "token ids, one value for each"));
    }
    const encoded = typeof input === "string" && textPair !== undefined && typeof this.#reader !== "string"
      ? this.#reader.encodePair(input, textPair)
      : this.#encodeTarget(input, true);
    const { maxPositions } = this.info;
    const count = encoded.ids.length;
    if (count === 0 || (count > maxPositions && !truncate)) {
      throw wrong("value", "text", `${count} tokens`, `1 to ${maxPositions}`, "has");
    }
    for (const [name, list] of [["segments", segments], ["paddingMask", paddingMask]] as const) {
      if (list?.length === 0) { // to the module an empty list would be as good as none
        throw within("attend", wrong("shape", name, "[]", `one for each of ${count} tokens`));
      }
    }
    const cut = <T>(values: readonly T[]): T[] => values.slice(0, maxPositions);
    // A tokenizer may tell two texts apart where the model does not, as that of DistilBERT.
    const kinds = segments ?? (this.info.segments > 1 ? encoded.segments : undefined);
    const ids = cut(encoded.ids);
    const inputs = [listed("ids", "i32", Int32Array.from(ids))];
    if (kinds) inputs.push(listed("segments", "i32", Int32Array.from(cut(kinds))));
    if (paddingMask) inputs.push(listed("padding_mask", "u8", Uint8Array.from(cut(paddingMask), Number)));
    return { ids, tokens: cut(encoded.tokens), inputs, count };
  }

  /** Returns the tokenizer of a text, which of an encoder–decoder is its target. Models of pictures have none. */
  #tokenizer(name: "source" | "text"): TextTokenizer | undefined {
    if (typeof this.#reader === "string") return undefined;
    return this.info.encoder && name === "text" ? this.#reader.target : this.#reader;
  }

  #encode(input: unknown, isFirst: boolean, name: "source" | "text" = "text"): Encoded {
    const tokenizer = this.#tokenizer(name) as TextTokenizer;
    if (typeof input === "string") return tokenizer.encode(input, isFirst);
    if (!Array.isArray(input)) throw wrong("dtype", name, show(input), "a string or an array of token ids");
    const ids: number[] = [];
    for (let i = 0; i < input.length; ++i) {
      const id: unknown = input[i]; // it is read once, as the array may be a proxy
      checkIndex(`${name}: id ${i}`, id, this.info.vocabSize);
      ids.push(id as number);
    }
    return { ids, tokens: tokenizer.pieces(ids) };
  }

  #readPicture(input: unknown): Reading {
    const { size, patchSize, channels, prefix } = this.info.image as Required<ModelInfo>["image"];
    const picture = imageOf(input);
    const { data, shape } = picture ? this.#preprocess(picture) : imageTensor(input, [channels, size, size]);
    const [rows, columns] = shape.slice(1).map((side) => Math.floor(side / patchSize)) as [number, number];
    const names = Array.from({ length: rows * columns }, (_, i) => `${Math.floor(i / columns)},${i % columns}`);
    const tokens = [...prefix, ...names];
    const inputs = [{ name: "image", dtype: "f32" as const, shape, data }];
    return { ids: [], tokens, inputs, count: tokens.length, patches: [rows, columns] };
  }

  #preprocess({ data, width, height }: Picture): Tensor {
    for (const [name, side] of [["width", width], ["height", height]] as const) {
      if (!Number.isInteger(side) || side < 1 || side > 65536) {
        throw wrong("value", `image.${name}`, show(side), "a whole number from 1 to 65536");
      }
    }
    const processor = this.#reader as string;
    return guarded("attend", () => unwrap(this.held.preprocess(data, width, height, processor), apiName));
  }
}

/** A list of our own as an input. */
function listed(name: string, dtype: RawInput["dtype"], data: NumberArray): RawInput {
  return { name, dtype, shape: [data.length], data };
}

/** Reads a picture's tensor. The module knows which sizes a model takes other than those of its training. */
function imageTensor(tensor: unknown, expected: readonly number[]): { data: NumberArray; shape: number[] } {
  const { data, shape } = withOwnView(floats("image", tensor as TensorLike));
  const [channels, ...sides] = shape;
  const most = expected[1] as number;
  if (channels !== expected[0] || sides.length !== 2 || sides.some((side) => side < 1 || side > most)) {
    throw wrong("shape", "image", showShape(shape), showShape(expected), "has shape");
  }
  return { data: finite("image", data), shape };
}

function finite(name: string, data: NumberArray): NumberArray {
  const at = Array.prototype.findIndex.call(data, (value) => !Number.isFinite(Math.fround(value as number)));
  if (at >= 0) throw wrong("value", `${name}.data[${at}]`, String(data[at]), "a finite number that a 32-bit float can hold");
  return data;
}

/** Pixels as they were read. */
interface Picture {
  readonly data: Bytes;
  readonly width: number;
  readonly height: number;
}

function imageOf(input: unknown): Picture | undefined {
  if (typeof input !== "object" || input === null || isTensorLike(input)) return undefined;
  const { width, height, data: given } = input as Partial<ImageLike>;
  const data = bytesOf(given); // they come last, as the others' getters may resize them
  return data && width !== undefined && height !== undefined ? { data, width, height } : undefined;
}

type TextOptions = Read<Pick<AttendOptions, "segments" | "paddingMask" | "sourcePaddingMask" | "truncate" | "textPair">>;

function checkTextOptions(
  options: { [Name in keyof TextOptions]: TextOptions[Name] | undefined }, info: ModelInfo,
): TextOptions {
  const refuse = (name: keyof TextOptions, expected: string): never => {
    throw within("attend", wrong("option", name, show(options[name]), expected));
  };
  /** Returns a copy, since what is checked has to be what is used. */
  const items = <T>(
    name: keyof TextOptions, isItem: (value: unknown) => boolean, expected: string,
  ): T[] | undefined => {
    if (options[name] === undefined) return undefined;
    return reading(`attend: ${name}`, () => listOf<T>(options[name], isItem)) ?? refuse(name, expected);
  };
  const isFlag = (value: unknown): boolean => typeof value === "boolean";
  const kinds = Math.max(info.segments, 1);
  const { truncate, textPair } = options;
  if (truncate !== undefined && !isFlag(truncate)) refuse("truncate", "a boolean");
  if (textPair !== undefined && typeof textPair !== "string") refuse("textPair", "a string");
  const segments = items<number>("segments", isBelow(kinds), `whole numbers from 0 to ${kinds - 1}`);
  const paddingMask = items<boolean>("paddingMask", isFlag, "an array of booleans");
  const sourcePaddingMask = items<boolean>("sourcePaddingMask", isFlag, "an array of booleans");
  if (sourcePaddingMask && !info.encoder) refuse("sourcePaddingMask", "nothing: only an encoder–decoder has a source");
  return {
    ...(segments && { segments }), ...(paddingMask && { paddingMask }), ...(sourcePaddingMask && { sourcePaddingMask }),
    ...(truncate !== undefined && { truncate }),
    ...(textPair !== undefined && { textPair }),
  };
}

class WasmDecoding extends HandleResource<DecodingHandle> implements Decoding {
  readonly #encode: (input: unknown, isFirst: boolean) => Encoded;
  readonly #info: ModelInfo;

  constructor(
    handle: DecodingHandle, encode: (input: unknown, isFirst: boolean) => Encoded, info: ModelInfo, model: WasmModel,
  ) {
    super("decoding", () => handle, model);
    this.#encode = encode;
    this.#info = info;
  }

  step(input: string | readonly number[]): DecodingStep {
    const isFirst = this.held.length() === 0;
    const { ids, tokens } = reading("input", () => this.#encode(input, isFirst));
    const handle = this.held;
    return guarded("step", () => {
      unwrap(handle.step(ids), apiName);
      const last = unwrap(handle.logits(ids.length - 1, ids.length), apiName);
      const logits = { data: last.data, shape: [this.#info.logits] };
      return { ids, tokens, length: handle.length(), firstKey: handle.firstKey(), logits };
    });
  }

  map(layer: number, head: number, options?: Maybe<StepMapOptions>): Tensor {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { attention } = checkOptions<StepMapOptions>("stepMap", options);
    const known = this.#info.encoder ? ["decoder", "cross"] : [];
    if (attention !== undefined && !known.includes(attention)) {
      const expected = known.length > 0 ? `one of ${known.map(show).join(", ")}` : "an encoder–decoder";
      throw within("map", wrong("option", "attention", show(attention), expected));
    }
    checkIndex("layer", layer, this.#info.layers);
    checkIndex("head", head, this.#info.heads);
    const handle = this.held;
    return guarded("map", () => unwrap(handle.map(layer, head, attention === "cross"), apiName));
  }

  reset(): void {
    this.held.reset();
  }
}
