// SPDX-License-Identifier: Apache-2.0
import type { AsyncEngine } from "./async.js";
import type { Engine } from "./engine.js";
import type { LoadOptions } from "./options/load.js";
import type { Maybe } from "./tensors.js";

/** Starts an engine: fetches and compiles the wasm build that this browser or Node runs best. Rejects with a HeadlensError. */
export interface Load {
  /**
   * Starts the engine in its own worker, where the same methods return promises.
   * @example
   * import { load } from "headlens";
   * const inWorker = await load({ worker: true });
   * const { data } = await inWorker.alibiSlopes(2);
   * data // → [0.0625, 0.0039]
   * inWorker.dispose();
   */
  (options: LoadOptions & { worker: true }): Promise<AsyncEngine>;
  (options?: Maybe<LoadOptions & { worker?: Maybe<false> }>): Promise<Engine>;
  (options: LoadOptions): Promise<Engine | AsyncEngine>;
}
