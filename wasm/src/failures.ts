// SPDX-License-Identifier: Apache-2.0
/** From whatever went wrong to a HeadlensError. */
import { HeadlensError, type ErrorCode } from "./errors.js";
import type { Failure } from "./module.js";

const kModuleCodes: ReadonlySet<string> = new Set<ErrorCode>(
  ["shape", "option", "value", "dtype", "format", "memory", "unsupported", "internal"]);

function isFailure(result: unknown): result is Failure {
  return typeof result === "object" && result !== null && "error" in result;
}

/** The value of a call into the wasm module, or its failure thrown; `rename` puts the message into the caller's words. */
export function unwrap<T>(result: T | Failure, rename: (message: string) => string = (message) => message): T {
  if (!isFailure(result)) return result;
  const { code, message } = result.error;
  throw new HeadlensError(kModuleCodes.has(code) ? code as ErrorCode : "internal", rename(message));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whatever was thrown as a HeadlensError: itself if it is one, else wrapped as `code` with `context` before its message. */
export function asHeadlensError(error: unknown, code: ErrorCode, context: string): HeadlensError {
  if (error instanceof HeadlensError) return error;
  return new HeadlensError(code, `${context}: ${messageOf(error)}`, { cause: error });
}

/** Runs the module's code; whatever escapes it (a trap, an exception nobody caught) is a fault of ours and says so. */
export function guarded<T>(what: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw asHeadlensError(error, error instanceof RangeError ? "memory" : "internal", what);
  }
}

/** Shows a value in a message: short, and telling strings from numbers. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return value.length > 8 ? `[${value.slice(0, 8).join(",")},…]` : `[${value.join(",")}]`;
  if (typeof value === "object" && value !== null) return value.constructor?.name ?? "object";
  return String(value);
}
