// SPDX-License-Identifier: Apache-2.0
/** Whatever goes wrong becomes a HeadlensError here. */
import { HeadlensError, type ErrorCode } from "../types/errors.js";
import { kEngineCodes } from "../types/vocabulary.js";
import type { Failure } from "./module.js";

const kModuleCodes: ReadonlySet<string> = new Set<ErrorCode>([...kEngineCodes, "internal"]);

function isFailure(result: unknown): result is Failure {
  return typeof result === "object" && result !== null && "error" in result;
}

/** Returns the value of a call into the wasm module, or throws its failure. `rename` puts the message into the caller's words. */
export function unwrap<T>(result: T | Failure, rename: (message: string) => string = (message) => message): T {
  if (!isFailure(result)) return result;
  const { code, message } = result.error;
  throw new HeadlensError(kModuleCodes.has(code) ? code as ErrorCode : "internal", rename(message));
}

export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "an error that cannot be shown";
  }
}

/** Returns what was thrown if it is a HeadlensError, and else a HeadlensError of `code` with `context` before the message. */
export function asHeadlensError(error: unknown, code: ErrorCode, context: string): HeadlensError {
  if (error instanceof HeadlensError) return error;
  return new HeadlensError(code, `${context}: ${messageOf(error)}`, { cause: error });
}

/** Runs the module's code. Whatever escapes it (a trap, an exception nobody caught) is a fault of ours and says so. */
export function guarded<T>(what: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw asHeadlensError(error, error instanceof RangeError ? "memory" : "internal", what);
  }
}

/** Reads what the caller gave, whose getters and proxies may throw anything. */
export function reading<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asHeadlensError(error, "value", `${name} cannot be read`);
  }
}

function showItem(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return "[…]";
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? name.slice(0, 60) : "object";
}

/** Shows a value in a message: short, telling strings from numbers, whatever the value is. */
export function show(value: unknown): string {
  try {
    if (!Array.isArray(value)) return showItem(value);
    return `[${Array.from(value.slice(0, 8), showItem).join(",")}${value.length > 8 ? ",…" : ""}]`;
  } catch {
    return "an object that cannot be read";
  }
}
