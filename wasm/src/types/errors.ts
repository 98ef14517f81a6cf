// SPDX-License-Identifier: Apache-2.0
import type { EngineCode } from "./vocabulary.js";

/**
 * The code says what went wrong, and is stable across versions:
 * - `shape`, `option`, `value`, `dtype`: an argument; the message names it, what it was and what was expected
 * - `format`: the bytes of a file; `memory`: more memory than there is; `unsupported`: valid, but not offered here
 * - `disposed`: used after `dispose()`; `wasm-load`, `model-load`: a file could not be fetched or read; `aborted`: by the caller's signal
 * - `internal`: a fault of this library
 */
export type ErrorCode = EngineCode | "disposed" | "wasm-load" | "model-load" | "aborted" | "internal";

/** This package throws no other class of error. What a callback of yours throws comes back as it is. */
export class HeadlensError extends Error {
  override readonly name = "HeadlensError";

  constructor(readonly code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
