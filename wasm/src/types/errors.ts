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

/** The parts of a message about one argument. */
export interface Fault {
  /**
   * The argument as the call names it, perhaps with a place in it: `attnMask`, `keyLengths.data[3]`, `out.weights`. Of a file it is the file's
   * name, or the field after it: `tokenizer.json: model.type`, `safetensors: tensor "a".shape`.
   */
  readonly argument?: string | undefined;
  /** The value or shape that it had, as the message shows it: `(2, 3)`, `-1`, `"left"`. It is absent when the argument was missing. */
  readonly got?: string | undefined;
  /** A description of the right values: `(4, 5)`, `a whole number, at least 0`. */
  readonly expected?: string | undefined;
}

/** Makes an error's trace begin in the caller's own code, where an entry of the package has put something here. */
export const trace: { shorten?: (error: HeadlensError) => void } = {};

/** The only class of error that this package throws. An error that one of your callbacks throws is passed on unchanged. */
export class HeadlensError extends Error implements Fault {
  override readonly name = "HeadlensError";

  /** Two scripts of the package may each hold this class. An error of either is one. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "HeadlensError";
  }

  /** These three are undefined where it is not one argument that is wrong. */
  readonly argument: string | undefined;
  readonly got: string | undefined;
  readonly expected: string | undefined;

  constructor(readonly code: ErrorCode, message: string, options: ErrorOptions & Fault = {}) {
    super(message, options);
    this.argument = options.argument;
    this.got = options.got;
    this.expected = options.expected;
    trace.shorten?.(this);
  }
}
