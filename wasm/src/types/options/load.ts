// SPDX-License-Identifier: Apache-2.0
/** These are the options of `load`. */
import type { Maybe } from "../tensors.js";
import type { URL } from "../web.js";

export interface LoadOptions {
  /** "auto" (default) takes the relaxed-SIMD build where the engine validates it. */
  simd?: Maybe<"auto" | "baseline" | "relaxed">;
  /**
   * So many threads share the work, from 1 to 64, the one that the engine runs in among them. By default as many as there are cores, up to
   * four, in a page that is cross-origin isolated, and 1 elsewhere, in Node too. Pages that are not isolated have one thread whatever is
   * asked for; `engine.info.threads` says how many there are. Results are the same for any number.
   */
  threads?: Maybe<number>;
  /** The .wasm files are here when they are not beside the module: this is their folder, or one of the files. */
  wasmUrl?: Maybe<string | URL>;
  /** The engine runs in a worker, where the same methods return promises. */
  worker?: Maybe<boolean>;
  /**
   * The files of this model are asked for at once, beside the engine's own code. It is a built-in name or the URL of a Hugging Face folder,
   * as `loadModel` takes it. The first `loadModel` of it finds them under way.
   */
  prefetch?: Maybe<string | URL>;
}
