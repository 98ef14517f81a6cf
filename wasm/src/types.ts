// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/** The public vocabulary: PyTorch's words in camelCase. B batch, H heads, G key/value heads, T queries, S keys, d head width, D model width. */

/** A dense row-major result; the array is the caller's own. */
export interface Tensor {
  data: Float32Array;
  shape: number[];
}

type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array | readonly number[] | readonly boolean[];

/** A dense row-major input: ours, or any object with `dims` such as the tensors of other runtimes. It is copied, never kept or changed. */
export type TensorLike =
  | { readonly data: Numbers; readonly shape: readonly number[] }
  | { readonly data: Numbers; readonly dims: readonly number[] };

/** A boolean mask: data of booleans, or Uint8Array. */
export type BooleanMask = TensorLike;

export type Stage =
  | "q" | "k" | "v"
  | "scores" | "scaledScores" | "cappedScores" | "biasedScores" | "maskedScores"
  | "weights" | "droppedWeights" | "lse" | "headOutputs" | "headContributions";

export type Conventions = "torch-mha" | "torch-sdpa" | "onnx" | "keras" | "jax" | "flash";

/** Options that every attention call shares. Absent options have PyTorch's default. */
export interface AttentionOptions {
  /** Additive floats, or booleans whose polarity `conventions` / `maskTrue` names. Shapes [T,S], [B·H,T,S], [B,T,S]* or [B,H,T,S]. */
  attnMask?: TensorLike;
  /** [B,S] booleans, true = ignore that key. */
  keyPaddingMask?: BooleanMask;
  /** Number of valid keys: [B] for every query, or [B,T] per query. */
  validLens?: TensorLike;
  isCausal?: boolean;
  causalAlignment?: "top_left" | "bottom_right";
  /** Bundles the points on which libraries disagree; the options below override it one by one. */
  conventions?: Conventions;
  /** What true in a boolean attnMask means. */
  maskTrue?: "ignore" | "keep";
  /** What a query with no key to look at gets; zero unless said otherwise. */
  fullyMasked?: "zero" | "nan" | "uniform";
  /** Scores become softcap · tanh(scores / softcap). */
  softcap?: number;
  softcapOrder?: "before_bias" | "after_bias";
  /** Per-head weights in the result. Default: true for the layer, false for scaledDotProductAttention (as PyTorch). */
  needWeights?: boolean;
  averageAttnWeights?: boolean;
  /** Intermediate results to return, under their own names. None costs anything when not asked for. */
  stages?: readonly Stage[];
  /** "simd" (default) or "reference": the fp64 twin. */
  backend?: "simd" | "reference";
  /** Seed of the dropout on the weights (counter-based: same seed, same mask). */
  seed?: number;
}

export interface ScaledDotProductAttentionOptions extends AttentionOptions {
  /** Default 1/√d. */
  scale?: number;
  dropoutP?: number;
  /** Allow fewer key/value heads than query heads. */
  enableGqa?: boolean;
  gqaOrder?: "block" | "interleaved";
}

export type AttentionResult = { output: Tensor } & Partial<Record<Stage, Tensor>>;

export interface MultiheadAttentionOptions {
  embedDim: number;
  numHeads: number;
  kdim?: number;
  vdim?: number;
  /** Default true. */
  bias?: boolean;
  addBiasKv?: boolean;
  addZeroAttn?: boolean;
  /** Default false: [T,B,D], as PyTorch. */
  batchFirst?: boolean;
  dropoutP?: number;
}

/** Parameters under PyTorch's names (`in_proj_weight`, `q_proj_weight`, `in_proj_bias`, `bias_k`, `bias_v`, `out_proj.weight`, `out_proj.bias`). */
export type StateDict = Readonly<Record<string, TensorLike>>;

/** A layer with parameters, which are to be loaded before the first `forward`. */
export interface Layer extends Disposable {
  /** As PyTorch counts them: 4·D² + 4·D for multi-head attention with biases. */
  readonly parameterCount: number;
  /** All parameters at once: a missing or unexpected name is an error. */
  loadStateDict(state: StateDict): void;
  dispose(): void;
}

export interface MultiheadAttention extends Layer {
  /** key defaults to query, value to key. Shapes as PyTorch: [T,B,D], [B,T,D] with batchFirst, or [T,D]. */
  forward(query: TensorLike, options?: AttentionOptions): AttentionResult;
  forward(query: TensorLike, key: TensorLike, options?: AttentionOptions): AttentionResult;
  forward(query: TensorLike, key?: TensorLike, value?: TensorLike, options?: AttentionOptions): AttentionResult;
}

/** As nn.TransformerEncoderLayer and nn.TransformerDecoderLayer, without dropout. */
export interface TransformerLayerOptions {
  embedDim: number;
  numHeads: number;
  /** Default 2048. */
  dimFeedforward?: number;
  /** Default "relu". */
  activation?: "relu" | "gelu";
  /** Default 1e-5. */
  layerNormEps?: number;
  /** Normalise before each block instead of after its residual. Default false. */
  normFirst?: boolean;
  /** Default true. */
  bias?: boolean;
  /** Default false: [T,B,D], as PyTorch. */
  batchFirst?: boolean;
}

/** Of the attention options, those that a layer passes on to its attention. Weights only when `needWeights`. */
type InnerOptions = Omit<AttentionOptions, "attnMask" | "keyPaddingMask" | "validLens" | "isCausal">;

export interface EncoderLayerOptions extends InnerOptions {
  srcMask?: TensorLike;
  srcKeyPaddingMask?: BooleanMask;
  validLens?: TensorLike;
  isCausal?: boolean;
}

export interface DecoderLayerOptions extends InnerOptions {
  tgtMask?: TensorLike;
  tgtKeyPaddingMask?: BooleanMask;
  tgtIsCausal?: boolean;
  memoryMask?: TensorLike;
  memoryKeyPaddingMask?: BooleanMask;
  memoryIsCausal?: boolean;
}

export interface TransformerEncoderLayer extends Layer {
  forward(src: TensorLike, options?: EncoderLayerOptions): AttentionResult;
}

/** Weights and stages are those of self-attention; `memoryWeights` are those of the attention to the memory. */
export type DecoderLayerResult = AttentionResult & { memoryWeights?: Tensor };

export interface TransformerDecoderLayer extends Layer {
  forward(tgt: TensorLike, memory: TensorLike, options?: DecoderLayerOptions): DecoderLayerResult;
}

export interface Image {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

export interface ColorOptions {
  /** "sequential" (default) for weights, "diverging" for signed values. */
  colormap?: "sequential" | "diverging";
  /** Which background the picture is for: low values fade into it. */
  theme?: "light" | "dark";
  /** Value range; from the data when absent. */
  min?: number;
  max?: number;
  /** Cells above the diagonal are masked: transparent. */
  causal?: boolean;
}

export interface ModelInfo {
  name: string;
  family: "bert" | "gpt2" | "llama" | "vit";
  /** Each token looks only at itself and at what came before. */
  causal: boolean;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  embedDim: number;
  /** 0 for a model that reads pictures. */
  vocabSize: number;
  /** Most tokens, or patches and CLS together. */
  maxPositions: number;
  /** Kinds of segments (token types) there are; 0: the model has none. */
  segments: number;
  /** A token looks at the last `window` ones only; 0: at all. */
  window: number;
  /** Width of the logits; 0: the model has none. */
  logits: number;
  /** Of models that read pictures: pixels a side, pixels a patch's side, channels. */
  image?: { size: number; patchSize: number; channels: number };
}

/**
 * A built-in model's name, the URL of a Hugging Face folder, or its files: config.json, model.safetensors (or its shards, with or without
 * model.safetensors.index.json), and tokenizer.json (a model of pictures: preprocessor_config.json if there is one).
 */
export type ModelSource = "tiny" | (string & {}) | URL | readonly File[];

export interface LoadModelOptions {
  signal?: AbortSignal;
  /** Called with loaded and total bytes (total 0 when unknown). */
  onProgress?: (loaded: number, total: number) => void;
}

export interface MapOptions {
  /** Half-open range of query rows; default all. */
  rows?: readonly [number, number];
  /** Mean-pooled down to at most [rows, cols]. */
  pool?: readonly [number, number];
}

export interface AttendOptions {
  /** Keep the logits. Default false. */
  logits?: boolean;
  /** Of a text with more tokens than the model has positions, read only the beginning; without it that is an error. Default false. */
  truncate?: boolean;
  /** A second text, behind the first, for models with segments (BERT). */
  textPair?: string;
  /** With token ids: the segment of each; default all 0. */
  segments?: readonly number[];
  /** With token ids: true where a token is padding, at which nobody looks. */
  paddingMask?: readonly boolean[];
  /** [layers, heads]: multiplies each head's weights; 0 ablates the head. */
  headMask?: TensorLike;
  /** Value zeroing: this token's value vectors are 0, in every layer or in `zeroedLayer` only. */
  zeroedToken?: number;
  zeroedLayer?: number;
}

/** A picture's pixels, as a canvas gives them: RGBA bytes, row by row. */
export interface ImageLike {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** What a model reads: a text or its token ids; or a picture, which is resized and normalised, or a tensor [channels, size, size] that is. */
export type ModelInput = string | readonly number[] | ImageLike | TensorLike;

export interface Model extends Disposable {
  readonly info: ModelInfo;
  /** Runs the model; maps are computed when asked for, never all held. */
  attend(input: ModelInput, options?: AttendOptions): ModelAttention;
  /** Starts a text that grows token by token; earlier keys and values are kept. Only for causal models. */
  startDecoding(): Decoding;
  dispose(): void;
}

export interface LogitsOptions {
  /** Half-open range of rows; default all. */
  rows?: readonly [number, number];
}

/** What one step of decoding read. */
export interface DecodingStep {
  ids: number[];
  tokens: string[];
  /** Tokens so far, these included. */
  length: number;
  /** The first token that is still kept: columns of the step's maps are the tokens [firstKey, length). */
  firstKey: number;
  /** [vocabSize] scores of the token that comes next. */
  logits: Tensor;
}

export interface Decoding extends Disposable {
  /** Reads what comes next: one token, or many at once. A text is tokenized by itself; special tokens only go before the first. */
  step(input: string | readonly number[]): DecodingStep;
  /** One head's weights in the last step: [its tokens, tokens kept]. */
  map(layer: number, head: number): Tensor;
  /** Forgets all tokens. */
  reset(): void;
  dispose(): void;
}

export interface ModelAttention extends Disposable {
  /**
   * What each position shows: its piece of the text, or a special token's name. The pieces join to the text, but for a character that
   * is split over several tokens: each of those shows its bytes as ⟨E2⟩. Of a picture: "[CLS]", then "row,column" of each patch.
   */
  readonly tokens: readonly string[];
  /** Empty for a picture. */
  readonly ids: readonly number[];
  /** Of a picture: rows and columns of patches. */
  readonly patches?: readonly [number, number];
  /** Tokens of the whole text: more than `tokens` holds when it was truncated. */
  readonly tokenCount: number;
  /** One head's weights [rows, T]. */
  map(layer: number, head: number, options?: MapOptions): Tensor;
  /** One head's whole map, one pixel a cell, masked cells transparent. */
  pixels(layer: number, head: number, options?: ColorOptions): Image;
  /** [T, vocabSize], or the one row [1, labels] of a classifier; only when `logits: true` was asked for. */
  logits(options?: LogitsOptions): Tensor;
  dispose(): void;
}

export interface EngineInfo {
  version: string;
  /** Which build runs. */
  simd: "baseline" | "relaxed";
  threads: number;
  /** The SIMD target of the kernels. */
  target: string;
}

export interface Engine extends Disposable {
  readonly info: EngineInfo;
  scaledDotProductAttention(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: ScaledDotProductAttentionOptions,
  ): AttentionResult;
  multiheadAttention(options: MultiheadAttentionOptions): MultiheadAttention;
  transformerEncoderLayer(options: TransformerLayerOptions): TransformerEncoderLayer;
  transformerDecoderLayer(options: TransformerLayerOptions): TransformerDecoderLayer;
  loadModel(source: ModelSource, options?: LoadModelOptions): Promise<Model>;
  /** Colours a matrix [rows, cols]; NaN cells are transparent. */
  colorize(matrix: TensorLike, options?: ColorOptions): Image;
  /** `steps` colours from min to max, RGBA. */
  colorbar(steps: number, options?: ColorOptions): Uint8ClampedArray;
  /** Bytes in use on this engine's wasm heap. */
  heapBytes(): number;
  dispose(): void;
}

export interface LoadOptions {
  /** "auto" (default) takes the relaxed-SIMD build where the engine validates it. */
  simd?: "auto" | "baseline" | "relaxed";
  /** Only 1 for now; reserved so that code written today keeps working. */
  threads?: number;
  /** Where the .wasm files are, when not beside the module: their folder, or one of the two files. */
  wasmUrl?: string | URL;
  /** Run in a worker: the same methods return promises. */
  worker?: boolean;
}

type Promised<T> = T extends (...args: infer A) => infer R ? (...args: A) => Promise<AsyncOf<Awaited<R>>> : T;

/** Overloads do not survive a mapped type, so the layer's `forward` is written out. */
interface AsyncForward {
  forward(
    query: TensorLike, key?: TensorLike | AttentionOptions, value?: TensorLike | AttentionOptions,
    options?: AttentionOptions,
  ): Promise<AttentionResult>;
}

/** The same object seen through a worker: methods return promises, properties stay values. */
export type AsyncOf<T> = T extends MultiheadAttention ? AsyncMembers<T, "forward"> & AsyncForward
  : T extends Engine | Model | ModelAttention | Decoding | Layer ? AsyncMembers<T, never>
  : T;

type AsyncMembers<T, Except> = { [K in keyof T as K extends Except | symbol | "dispose" ? never : K]: Promised<T[K]> }
  & Disposable & { dispose(): void };

export type AsyncEngine = AsyncOf<Engine>;
export type AsyncMultiheadAttention = AsyncOf<MultiheadAttention>;
export type AsyncTransformerEncoderLayer = AsyncOf<TransformerEncoderLayer>;
export type AsyncTransformerDecoderLayer = AsyncOf<TransformerDecoderLayer>;
export type AsyncModel = AsyncOf<Model>;
export type AsyncModelAttention = AsyncOf<ModelAttention>;
export type AsyncDecoding = AsyncOf<Decoding>;

/** Starts an engine: fetches and compiles the wasm build that this browser or Node runs best. Rejects with a HeadlensError. */
export interface Load {
  /** In a worker of its own: the same methods return promises. */
  (options: LoadOptions & { worker: true }): Promise<AsyncEngine>;
  (options?: LoadOptions & { worker?: false }): Promise<Engine>;
  (options: LoadOptions): Promise<Engine | AsyncEngine>;
}
