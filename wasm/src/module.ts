// SPDX-License-Identifier: Apache-2.0
/**
 * What the WebAssembly module itself offers: the one place that mirrors bindings.cc.
 * Views returned by `input`, `weights` and the like point into wasm memory: fill or copy them before the next call.
 */

/** Every call that can fail returns this instead of its value; `unwrap` in failures.ts turns it into a thrown HeadlensError. */
export interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

export type DType = "f32" | "u8" | "i32";

export interface RawTensor {
  /** A copy: the caller's own. */
  readonly data: Float32Array;
  readonly shape: number[];
}

export interface RawImage {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export interface RawModelInfo {
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly embedDim: number;
  readonly vocabSize: number;
  readonly maxPositions: number;
}

interface Handle {
  delete(): void;
}

/** One attention problem or layer: parameters stay set between runs, other inputs are dropped after each run. */
export interface ProblemHandle extends Handle {
  /** Declares an input and gives the view to fill: Float32Array, Uint8Array or Int32Array by dtype. */
  input(name: string, dtype: DType, shape: number[]): Float32Array | Uint8Array | Int32Array | Failure;
  /** `options` is a JSON object with the options of this run, in the words of the case files (snake_case). */
  run(options: string): Failure | undefined;
  /** Names of the results of the last run: "output", "weights" and the requested stages, in snake_case. */
  outputNames(): string[];
  output(name: string): RawTensor | Failure;
  /** The number of parameters (for a layer), as PyTorch counts them. */
  parameterCount(): number;
}

/** A decoder read from a Hugging Face folder. */
export interface ModelHandle extends Handle {
  /** The view, `byteLength` long, to be filled with the bytes of model.safetensors. */
  weights(): Uint8Array;
  /** Reads and packs the weights; their file's bytes are released. */
  build(): Failure | undefined;
  /** The sizes that config.json gives. */
  info(): RawModelInfo;
  /** Runs the model on token ids. Everything needed for any map is kept in the result. */
  attend(ids: number[], logits: boolean): AttentionHandle | Failure;
}

export interface AttentionHandle extends Handle {
  /** Weights of one head, rows [rowBegin, rowEnd): [rows, T], or mean-pooled to at most [poolRows, poolCols] (0: not pooled). */
  map(
    layer: number, head: number, rowBegin: number, rowEnd: number, poolRows: number, poolCols: number,
  ): RawTensor | Failure;
  /** One head's whole map as coloured pixels, one per cell (T by T). `options` as for colorize. */
  pixels(layer: number, head: number, options: string): RawImage | Failure;
  /** [T, vocabSize]; a failure when logits were not asked for. */
  logits(): RawTensor | Failure;
}

export interface HeadlensModule {
  version(): string;
  /** Highway's name of the SIMD target that runs, e.g. "WASM". */
  simdTarget(): string;
  /** Bytes in use on the wasm heap (for leak tests). */
  heapBytes(): number;
  createProblem(op: string, options: string): ProblemHandle | Failure;
  /** `config` is the text of config.json. */
  createModel(config: string, byteLength: number): ModelHandle | Failure;
  /**
   * Colours a matrix [rows, cols] given in `data`. `options` is JSON: { colormap: "sequential" | "diverging", theme: "light" | "dark",
   * min?: number, max?: number (absent: from the data), causal?: boolean (cells above the diagonal are masked) }.
   * NaN and masked cells become transparent (alpha 0).
   */
  colorize(data: Float32Array, rows: number, cols: number, options: string): RawImage | Failure;
  /** RGB of `steps` equal steps of a colour map, for colour bars: steps × 4 RGBA bytes. */
  colorbar(options: string, steps: number): Uint8ClampedArray;
}

/** The default export of Emscripten's glue, which we instantiate ourselves. */
export type ModuleFactory = (overrides: {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): Record<string, never>;
}) => Promise<HeadlensModule>;
