// SPDX-License-Identifier: Apache-2.0
/** All errors, of the module and of JavaScript, are turned into HeadlensErrors here. */
import { HeadlensError, type ErrorCode } from "../types/errors.js";
import { kEngineCodes } from "../types/vocabulary.js";
import type { Failure } from "./module.js";

const kModuleCodes: ReadonlySet<string> = new Set<ErrorCode>([...kEngineCodes, "internal"]);

function isFailure(result: unknown): result is Failure {
  return typeof result === "object" && result !== null && "error" in result;
}

/** Spells a name of the module in the way of the surface that reports an error. */
export type Spelling = (name: string) => string;

/** Names stand between these in the module's phrases, so that every second part is one. */
const kNameMark = "\u001f";

function spelled(phrase: string, spell: Spelling): string {
  return phrase.split(kNameMark).map((part, i) => i % 2 === 1 ? spell(part) : part).join("");
}

/** Returns the value of a call into the wasm module, or throws its failure, with names as `spell` has them. */
export function unwrap<T>(result: T | Failure, spell: Spelling = (name) => name): T {
  if (!isFailure(result)) return result;
  const { code, message, argument = "", got = "", expected = "" } = result.error;
  const fault = Object.fromEntries(Object.entries({ argument, got, expected })
    .filter(([, phrase]) => phrase !== "").map(([part, phrase]) => [part, spelled(phrase, spell)]));
  throw new HeadlensError(kModuleCodes.has(code) ? code as ErrorCode : "internal", spelled(message, spell), fault);
}

/**
 * Returns the error of an argument that is, or has, `got`: "window is -1, expected a whole number from 0 up". Without `got` the argument is
 * missing.
 */
export function wrong(code: ErrorCode, argument: string, got: string | undefined, expected: string, verb = "is"): HeadlensError {
  return new HeadlensError(code, `${argument} ${verb} ${got ?? "missing"}, expected ${expected}`, { argument, got, expected });
}

/** Returns the error of bytes that follow a file's last tensor. */
export function surplus(file: string, bytes: number): HeadlensError {
  return wrong("format", file, `${bytes} bytes after the last tensor`, "none", "has");
}

/** Returns the same error with a place before its message. */
export function within(place: string, error: HeadlensError): HeadlensError {
  const { code, argument, got, expected, message } = error;
  return new HeadlensError(code, `${place}: ${message}`, { cause: error, argument, got, expected });
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

/** Runs the module's code. A trap, or an exception that was not caught, is a fault of this package, and becomes an error that says so. */
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

/** Shows a value that may be missing as `wrong` takes it. */
export function showIfAny(value: unknown): string | undefined {
  return value === undefined ? undefined : show(value);
}

/** Shows a shape as all messages do: "(2, 3)". */
export function showShape(shape: readonly unknown[]): string {
  return `(${shape.map(showItem).join(", ")}${shape.length === 1 ? "," : ""})`;
}
