// SPDX-License-Identifier: Apache-2.0
import type { EngineCode } from "./vocabulary.js";

/**
 * The code of an error, which is stable across versions:
 * - `shape`, `option`, `value`, `dtype`: an argument; the message names it, what it was and what was expected
 * - `format`: the bytes of a file; `memory`: more memory than there is; `unsupported`: valid, but not offered here
 * - `disposed`: used after `dispose()`; `wasm-load`, `model-load`: a file could not be fetched or read; `aborted`: by the caller's signal
 * - `internal`: a fault of this library
 */
export type ErrorCode = EngineCode | "disposed" | "wasm-load" | "model-load" | "aborted" | "internal";

/** The only class of error that this package throws. An error that one of your callbacks throws is passed on unchanged. */
export class HeadlensError extends Error {
  override readonly name = "HeadlensError";

  constructor(readonly code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
