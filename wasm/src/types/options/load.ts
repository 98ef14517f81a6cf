// SPDX-License-Identifier: Apache-2.0
/** The options of `load` and of `loadModel`. */
import type { Maybe } from "../tensors.js";
import type { AbortSignal, URL } from "../web.js";

export interface LoadOptions {
  /** "auto" (default) uses the relaxed-SIMD build when this browser or Node can run it. */
  simd?: Maybe<"auto" | "baseline" | "relaxed">;
  /**
   * The number of threads that share the work, from 1 to 64, including the engine's own. The default is the number of cores, at most four, in a
   * cross-origin isolated page, and 1 elsewhere, also in Node. A page that is not isolated always has one thread; `engine.info.threads` is the actual
   * number. Results do not depend on it.
   */
  threads?: Maybe<number>;
  /**
   * The engine's code itself, where it is not to be fetched: the bytes of headlens-simd.wasm, or with `simd: "relaxed"` those of
   * headlens-relaxed.wasm.
   */
  wasm?: Maybe<ArrayBuffer | Uint8Array>;
  /** The folder of the .wasm files, or one of the files, also as a data: URL, when they are not next to the module. */
  wasmUrl?: Maybe<string | URL>;
  /** Runs the engine in a worker. Its methods are then the same, but return promises. */
  worker?: Maybe<boolean>;
  /**
   * A model whose files are fetched at once, together with the engine's own code: a built-in name or the URL of a Hugging Face folder, as for
   * `loadModel`. The first `loadModel` of it then finds them on their way.
   */
  prefetch?: Maybe<string | URL>;
}

export interface LoadModelOptions {
  signal?: Maybe<AbortSignal>;
  /** Called with the loaded and the total bytes (0 when unknown). When it throws, loading ends and rejects with that error. */
  onProgress?: Maybe<(loaded: number, total: number) => void>;
  /**
   * Keeps the files of a model on another server in the browser, in the Cache Storage "headlens-models" of the page, and reads them from there as long
   * as the server has the same or does not answer. Default: false. It changes nothing where there is no such storage, as in Node, or no room in it.
   */
  keep?: Maybe<boolean>;
}
