// SPDX-License-Identifier: Apache-2.0
/**
 * These types mirror what the WebAssembly module offers, handle by handle as in wasm/bindings/. Nothing else in the package describes it.
 * The views that `next` returns point into wasm memory: they have to be filled before the next call.
 */

/** Every call that can fail returns this instead of its value. `unwrap` in failures.ts turns it into a thrown HeadlensError. */
export interface Failure {
  /** The texts are phrases, in which names stand between marks. Those but the message are there when one argument is wrong. */
  readonly error: {
    readonly code: string; readonly message: string;
    readonly argument?: string; readonly got?: string; readonly expected?: string;
  };
}

export type DType = "f32" | "u8" | "i32";

export interface RawTensor {
  /** The data are a copy, the caller's own, unless a method says something else. */
  readonly data: Float32Array;
  readonly shape: number[];
}

export interface RawImage {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** Sizes are 0 where a model has no such thing. */
export interface RawModelInfo {
  readonly family: string;
  readonly causal: boolean;
  readonly layers: number;
  readonly encoderLayers: number;
  readonly encoderHeads: number;
  readonly encoderHeadDim: number;
  readonly encoderScale: number;
  readonly startToken: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly embedDim: number;
  readonly vocabSize: number;
  readonly maxPositions: number;
  readonly segments: number;
  readonly windows: readonly number[];
  readonly scales: readonly number[];
  readonly imageSize: number;
  readonly patchSize: number;
  readonly channels: number;
  /** The names of the tokens before the patches of a picture. */
  readonly prefix: readonly string[];
  readonly logits: number;
  readonly labels: readonly string[];
}

interface Handle {
  delete(): void;
}

/** Keeps the keys and values so far. */
export interface CacheHandle extends Handle {
  length(): number;
  reset(): void;
  /** Takes back what the last run appended, so that `length` tokens are left. */
  truncate(length: number): void;
}

export interface RawInput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: number[];
  /**
   * The data have as many elements as the shape says, since otherwise memory that was never written would be read. They are not the caller's own array, which
   * may be a proxy, or of a class of theirs: reading it would run code in the middle of a call.
   */
  readonly data: NumberArray;
}

export type NumberArray = Float32Array | Float64Array | Int32Array | Uint8Array;

export interface RawAnalysis {
  readonly tensors: Readonly<Record<string, RawTensor>>;
  /** The values are a JSON object. */
  readonly values: string;
}

/** Holds one attention problem or layer. Its parameters stay set between runs, other inputs are dropped after each run. */
export interface ProblemHandle extends Handle {
  /** Takes all parameters of the layer, which must fit it. After a failure those before are still there. */
  load(parameters: readonly RawInput[]): Failure | undefined;
  /**
   * `options` is a JSON object with the options of this run, in the words of the case files (snake_case). Gives "output", "weights" and
   * the requested stages, in snake_case, as views. They have to be copied before anything else is called, and then comes `release`.
   */
  run(
    inputs: readonly RawInput[], options: string, cache: CacheHandle | null,
  ): Readonly<Record<string, RawTensor>> | Failure;
  /** Frees the last run's inputs and results, unless it is small and can be repeated. */
  release(): void;
  /** Gives the last run's inputs and results, when they are still there. */
  kept(): KeptViews | undefined;
  /** Runs the last call again, with what its inputs hold now. */
  repeat(): Failure | undefined;
  /** Gives the number of a layer's parameters, as PyTorch counts them. */
  parameterCount(): number;
}

/** Views into wasm memory go by name. They stay where they are until the next `run` or `load`, but are detached when memory grows. */
export interface KeptViews {
  readonly inputs: Readonly<Record<string, NumberArray>>;
  /** Results are as `run` gives them. */
  readonly results: Readonly<Record<string, RawTensor>>;
}

/** A model out of a Hugging Face folder is made from its config.json, then given the bytes of its weights, then built. */
export interface ModelHandle extends Handle {
  /** Starts a file of weights and gives its number. A length of -1 is one that is not known. */
  beginFile(byteLength: number): number | Failure;
  /** Gives a view that is to be filled with the next bytes of the file. It is empty when the file is complete. */
  next(file: number): Uint8Array | Failure;
  /** Says how many bytes of that view have been filled. */
  advance(file: number, count: number): Failure | undefined;
  /** Packs the weights, and releases the files' bytes on the way. */
  build(): Failure | undefined;
  /** Gives the sizes that config.json has. `logits`, `labels` and `scales` are known once the model is built. */
  info(): RawModelInfo;
  /** Turns RGBA bytes into what the model reads. `processor` is the text of preprocessor_config.json, or empty. */
  preprocess(rgba: ArrayLike<number>, width: number, height: number, processor: string): RawTensor | Failure;
  /** Begins a run of the model, in pieces for all at once or in small ones. Everything needed for any map is kept in the result. */
  attend(inputs: readonly RawInput[], options: string, atOnce: boolean): AttentionHandle | Failure;
  /** `inputs` hold the source of an encoder–decoder. */
  startDecoding(inputs: readonly RawInput[], options: string): DecodingHandle | Failure;
  /** `specialTokens` are the ids that count as special. */
  findHeads(options: string, specialTokens: readonly number[]): FinderHandle | Failure;
  layerWeights(layer: number): RawLayerWeights | Failure;
  /** Gives [V, D], and undefined where the model has none. */
  embedding(): RawTensor | Failure | undefined;
  /** Gives [V, D] with the last norm's γ folded in, and undefined where the model has none. */
  unembedding(): RawTensor | Failure | undefined;
}

/** The shapes are q [H·d, D], k and v [G·d, D], o [D, H·d], norm [D]. */
export interface RawLayerWeights {
  readonly q: RawTensor;
  readonly k: RawTensor;
  readonly v: RawTensor;
  readonly o: RawTensor;
  readonly norm?: RawTensor;
}

/** Scores the heads of a model, text by text. */
export interface FinderHandle extends Handle {
  /** Runs the model on a text, whose heads are then the next ones. */
  begin(inputs: readonly RawInput[]): Failure | undefined;
  /** Scores the next head, and gives false when the text has no more. */
  next(): boolean | Failure;
  /** Gives all heads by the first metric, as scored so far, with metrics in snake_case. */
  heads(): RawScoredHead[] | Failure;
}

export interface RawScoredHead {
  readonly layer: number;
  readonly head: number;
  readonly scores: Readonly<Record<string, { mean: number | null; texts: number; nValid: number }>>;
}

/** Has the maps of heads: of each layer of a model, or of each batch. */
export interface HeadMapsHandle extends Handle {
  /** Gives a part of one head's weights as a picture of so many rows and columns: of the means or the largest weights of blocks. */
  map(
    layerOrBatch: number, head: number, rowBegin: number, rowEnd: number, colBegin: number, colEnd: number,
    rows: number, cols: number, largest: boolean,
  ): RawTensor | Failure;
  /** Gives [3, rows]: ln Σ exp of the masked scores, the largest weights, and the numbers of keys that queries may look at. */
  rowSummaries(layerOrBatch: number, head: number, rowBegin: number, rowEnd: number): RawTensor | Failure;
  /** Fills arrays with the pictures of whole maps [heads, rows, cols], and the last two rows of rowSummaries [heads, queries]. */
  fillOverview(
    layerOrBatch: number, headBegin: number, headEnd: number, rows: number, cols: number, largest: boolean,
    to: Readonly<Record<"maps" | "largest" | "keys", Float32Array>>,
  ): undefined | Failure;
}

/** Keeps the queries and keys that it was made from. */
export interface MapsHandle extends HeadMapsHandle {
  /** Gives the numbers of batches, heads, queries and keys. */
  sizes(): [batches: number, heads: number, queries: number, keys: number];
}

/** An explanation: tensors, and lists of parts as their names with commas between them, such as "token,head.0.3". */
export type RawExplanation<Tensors extends string, Parts extends string> =
  Readonly<Record<Tensors, RawTensor>> & Readonly<Record<Parts, string>>;

/** Its maps have one count of layers: those of the decoder come first, then those of the cross-attention, and then the encoder's. */
export interface AttentionHandle extends HeadMapsHandle {
  /** Runs the next piece, or all that are left, and gives the share that is done. At 1 the other methods work. */
  next(all: boolean): number | Failure;
  /**
   * Gives rows of the logits: of the model; with a layer, as if that and all after it were not there; with a head of it, what the head adds.
   * Without a layer or a head these are -1.
   */
  logits(layer: number, head: number, rowBegin: number, rowEnd: number): RawTensor | Failure;
  /** Gives [3, count] of the largest or smallest of these logits at one position: tokens, logits, probabilities. */
  extremes(layer: number, head: number, position: number, count: number, largest: boolean): RawTensor | Failure;
  /** Without a key (-1) the row is explained, which has byQuery and byKey in the place of terms. `against` may be -1. The steps are [4, cells]. */
  explain(
    layer: number, head: number, query: number, key: number, against: number,
  ): RawExplanation<"scores" | "terms" | "byQuery" | "byKey" | "steps", "queryParts" | "keyParts"> | Failure;
  explainOutput(layer: number, head: number, query: number): RawExplanation<"written" | "terms", "parts"> | Failure;
  sources(layer: number, head: number): RawExplanation<"query" | "key" | "value", "queryParts" | "keyParts" | "valueParts"> | Failure;
  contributions(position: number, tokens: readonly number[]): RawExplanation<"logits" | "terms", "parts"> | Failure;
  /** Gives the differences of another run from this one. */
  difference(other: AttentionHandle): DifferenceHandle | Failure;
  /** Gives a finder of the paths to one head, or to all when these are -1. */
  findPaths(layer: number, head: number): PathFinderHandle | Failure;
  /** Begins another run of the same input. `inputs` are those of `attend` without the input itself. */
  again(inputs: readonly RawInput[], options: string, atOnce: boolean): AttentionHandle | Failure;
  /** Begins a run of another input, as a model's handle does. What both have at the beginning is taken from this one. */
  attend(inputs: readonly RawInput[], options: string, atOnce: boolean): AttentionHandle | Failure;
  /**
   * Gives what was kept of a layer: 0 the stream before it, or after the last layer, [T, D]; 1 queries [H, T, d]; 2 keys and 3 values [G, S, d]; 4 the
   * heads' outputs [H, T, d]. Layers are counted as those of maps are.
   */
  kept(what: number, layer: number): RawTensor | Failure;
}

/** Shares both runs. */
export interface DifferenceHandle extends Handle {
  /** Gives [pairs, 2]: the tokens of both runs, or those of their sources. */
  pairs(ofSource: boolean): RawTensor;
  /** The parts are 0 the decoder, 1 the encoder, 2 the cross-attention. */
  map(part: number, layer: number, head: number, rowBegin: number, rowEnd: number): RawTensor | Failure;
  divergences(): RawTensor | Failure;
  /** Gives [4, count] of the largest or smallest changes at a pair: tokens, changes of ln p, and p in both runs. */
  changes(pair: number, count: number, largest: boolean): RawTensor | Failure;
}

/** Finds paths of two heads, one later head at a time. */
export interface PathFinderHandle extends Handle {
  /** Gives the number of later heads. */
  heads(): number;
  /** Adds the paths to the next later head, and gives false when none is left. */
  next(): boolean | Failure;
  /**
   * Gives [paths, 10] of the first ones: layer and head of the earlier and of the later head, 0 query, 1 key or 2 value, share, weights, and of induction
   * paths previous, induction and score. NaN stands for a number that there is not.
   */
  paths(count: number, induction: boolean): RawTensor | Failure;
}

/** Reads a text that grows. */
export interface DecodingHandle extends Handle {
  step(ids: readonly number[]): Failure | undefined;
  /** Gives the map of the last step: [its tokens, the tokens that are kept], or with `cross` those of the source. */
  map(layer: number, head: number, cross: boolean): RawTensor | Failure;
  /** Gives rows of the last step's logits. */
  logits(rowBegin: number, rowEnd: number): RawTensor | Failure;
  /** Gives the number of tokens so far. */
  length(): number;
  /** Gives the first token that is still kept. */
  firstKey(): number;
  reset(): void;
}

/** threads.ts starts a thread with this. Functions are given by their places in the table. */
export interface ThreadStart {
  readonly prepare: number;
  readonly serve: number;
  readonly giveUp: number;
  readonly stack: number;
  readonly stackBytes: number;
  readonly worker: number;
}

export interface HeadlensModule {
  version(): string;
  /** Gives Highway's name of the SIMD target that runs, such as "WASM". */
  simdTarget(): string;
  /** Sets the number of threads, the caller's among them, and returns what the others are started with. It is called once, before all else. */
  startThreads(threads: number): ThreadStart[] | Failure;
  /** Gives the bytes in use on the wasm heap (for leak tests). */
  heapBytes(): number;
  createProblem(op: string, options: string): ProblemHandle | Failure;
  createCache(options: string): CacheHandle | Failure;
  /** `inputs` are the query and the key, and what masks and positions need. Names and options are in snake_case. */
  createMaps(inputs: readonly RawInput[], options: string): MapsHandle | Failure;
  /** Answers one question about attention. Names and options are in snake_case. */
  analyze(name: string, inputs: readonly RawInput[], options: string): RawAnalysis | Failure;
  /** `config` is the text of config.json, `maxBytes` the most that its weights may have. */
  createModel(config: string, maxBytes: number): ModelHandle | Failure;
  /** Gives the files that a model.safetensors.index.json names. */
  shardNames(index: string): string[] | Failure;
  /** Fails where one of the files `names`, which are all of a folder's without `missing`, is in its place in a format that is not read. */
  refuseOtherFormats(missing: string, names: readonly string[]): undefined | Failure;
  /**
   * Colours a matrix [rows, cols] given in `data`. `options` is JSON: { colormap: "sequential" | "diverging", theme: "light" | "dark",
   * min?: number, max?: number (absent: from the data), causal?: boolean (cells above the diagonal are masked) }.
   * NaN and masked cells become transparent (alpha 0).
   */
  colorize(data: Float32Array, rows: number, cols: number, options: string): RawImage | Failure;
  /** Gives `steps` equal steps of a colour map, for colour bars: steps × 4 RGBA bytes. Of the options it reads colormap and theme. */
  colorbar(options: string, steps: number): Uint8ClampedArray;
}

/** This is the default export of Emscripten's glue. instantiate.ts makes the instance itself. */
export type ModuleFactory = (overrides: {
  readonly wasmMemory: WebAssembly.Memory;
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): Record<string, never>;
}) => Promise<HeadlensModule>;
