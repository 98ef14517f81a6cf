// SPDX-License-Identifier: Apache-2.0
/** Models in Hugging Face form: their files, their tokens, and the maps of their heads. */
import type { WasmEngine } from "./engine.js";
import { HeadlensError } from "./errors.js";
import { asHeadlensError, guarded, show, unwrap } from "./failures.js";
import { readFiles, type ModelFiles } from "./files.js";
import type { AttentionHandle, HeadlensModule, ModelHandle } from "./module.js";
import { checkLoadModelOptions, checkOptions, inApiWords, toRequest } from "./names.js";
import type { Platform } from "./platform.js";
import { HandleResource } from "./resource.js";
import { TextTokenizer, type Encoded } from "./tokenizer.js";
import type {
  AttendOptions, ColorOptions, Image, LoadModelOptions, MapOptions, Model, ModelAttention, ModelInfo, ModelSource,
  Tensor,
} from "./types.js";

function checkIndex(name: string, value: unknown, below: number): void {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) >= below) {
    throw new HeadlensError("value", `${name} is ${show(value)}, expected a whole number from 0 to ${below - 1}`);
  }
}

function parse(name: string, bytes: readonly Uint8Array[]): { text: string; json: object } {
  const decoder = new TextDecoder();
  const text = bytes.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw asHeadlensError(error, "format", name);
  }
  if (typeof json !== "object" || json === null) throw new HeadlensError("format", `${name} holds ${show(json)}, expected a JSON object`);
  return { text, json };
}

/** The module's model, filled with the weights. The view is taken anew for each piece: memory may have moved in between. */
function build(module: HeadlensModule, config: string, weights: readonly Uint8Array[]): ModelHandle {
  const byteLength = weights.reduce((sum, chunk) => sum + chunk.length, 0);
  const handle = unwrap(module.createModel(config, byteLength), inApiWords);
  try {
    let at = 0;
    for (const chunk of weights) {
      handle.weights().set(chunk, at);
      at += chunk.length;
    }
    unwrap(handle.build(), inApiWords);
    return handle;
  } catch (error) {
    handle.delete();
    throw error;
  }
}

/** Fetches and builds a model for `engine`. */
export async function loadModel(
  engine: WasmEngine, module: HeadlensModule, platform: Platform, source: ModelSource, options?: LoadModelOptions,
): Promise<Model> {
  const files: ModelFiles = await readFiles(source, platform, checkLoadModelOptions(options));
  engine.heapBytes(); // throws when the engine was disposed meanwhile
  const config = parse("config.json", files.config);
  const tokenizer = new TextTokenizer(parse("tokenizer.json", files.tokenizer).json);
  const handle = guarded("loadModel", () => build(module, config.text, files.weights));
  return new WasmModel(handle, { name: files.name, ...handle.info() }, tokenizer, engine);
}

class WasmModel extends HandleResource<ModelHandle> implements Model {
  readonly info: ModelInfo;
  readonly #tokenizer: TextTokenizer;

  constructor(handle: ModelHandle, info: ModelInfo, tokenizer: TextTokenizer, engine: WasmEngine) {
    super("model", handle, engine);
    this.info = info;
    this.#tokenizer = tokenizer;
  }

  attend(text: string | readonly number[], options?: AttendOptions): ModelAttention {
    const handle = this.held;
    const { logits = false, truncate = false } = checkOptions("attend", options) as AttendOptions;
    for (const [name, value] of Object.entries({ logits, truncate })) {
      if (typeof value !== "boolean") throw new HeadlensError("option", `attend: ${name} is ${show(value)}, expected a boolean`);
    }
    const { ids, tokens } = this.#encode(text);
    const { maxPositions } = this.info;
    if (ids.length === 0 || (ids.length > maxPositions && !truncate)) {
      throw new HeadlensError("value", `text has ${ids.length} tokens, expected 1 to ${maxPositions}`);
    }
    const read: Encoded = { ids: ids.slice(0, maxPositions), tokens: tokens.slice(0, maxPositions) };
    const attention = guarded("attend", () => unwrap(handle.attend(read.ids, logits), inApiWords));
    return new WasmModelAttention(attention, read, ids.length, this.info, this);
  }

  #encode(text: unknown): Encoded {
    if (typeof text === "string") return this.#tokenizer.encode(text);
    if (!Array.isArray(text)) throw new HeadlensError("dtype", `text is ${show(text)}, expected a string or an array of token ids`);
    (text as unknown[]).forEach((id, i) => checkIndex(`text: id ${i}`, id, this.info.vocabSize));
    return { ids: [...text as number[]], tokens: this.#tokenizer.pieces(text as number[]) };
  }
}

class WasmModelAttention extends HandleResource<AttentionHandle> implements ModelAttention {
  readonly tokens: readonly string[];
  readonly ids: readonly number[];
  readonly tokenCount: number;
  readonly #info: ModelInfo;

  constructor(
    handle: AttentionHandle, { ids, tokens }: Encoded, tokenCount: number, info: ModelInfo, model: WasmModel,
  ) {
    super("attention", handle, model);
    this.tokens = tokens;
    this.ids = ids;
    this.tokenCount = tokenCount;
    this.#info = info;
  }

  map(layer: number, head: number, options?: MapOptions): Tensor {
    const handle = this.held;
    this.#checkHead(layer, head);
    const { rows = [0, this.ids.length], pool } = checkOptions("map", options) as MapOptions;
    const [begin, end] = checkPair("rows", rows, 0, this.ids.length);
    if (begin > end) throw new HeadlensError("value", `rows is ${show(rows)}, expected a first row that is not after the end`);
    const [poolRows, poolCols] = pool === undefined ? [0, 0] : checkPair("pool", pool, 1, Number.MAX_SAFE_INTEGER);
    const { length } = this.ids;
    return guarded("map", () => unwrap(
      handle.map(layer, head, begin, end, Math.min(poolRows, length), Math.min(poolCols, length)), inApiWords));
  }

  pixels(layer: number, head: number, options?: ColorOptions): Image {
    const handle = this.held;
    this.#checkHead(layer, head);
    const { json } = toRequest("pixels", options);
    return guarded("pixels", () => unwrap(handle.pixels(layer, head, json), inApiWords));
  }

  logits(): Tensor {
    const handle = this.held;
    return guarded("logits", () => unwrap(handle.logits(), inApiWords));
  }

  #checkHead(layer: number, head: number): void {
    checkIndex("layer", layer, this.#info.layers);
    checkIndex("head", head, this.#info.heads);
  }
}

function checkPair(name: string, pair: unknown, min: number, max: number): [number, number] {
  const isInRange = (n: unknown): boolean => Number.isInteger(n) && (n as number) >= min && (n as number) <= max;
  if (!Array.isArray(pair) || pair.length !== 2 || !pair.every(isInRange)) {
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`;
    throw new HeadlensError("value", `${name} is ${show(pair)}, expected two whole numbers ${range}`);
  }
  return pair as [number, number];
}
