// SPDX-License-Identifier: Apache-2.0
/**
 * These messages go between a page and the engine in its worker. The caller numbers its calls, and each is answered once. A worker handles
 * messages in the order in which they come, and its messages about the progress of a call, the last of which is always sent, come before that
 * call's answer.
 */
import type { OwnFile } from "../platform/own-files.js";
import type { CarriedFiles, ThreadTask } from "../platform/platform.js";
import type { Code } from "../start/code.js";
import type { ErrorCode, Fault } from "../types/errors.js";

/** A call of a method. */
export interface Invocation {
  readonly kind: "invoke";
  readonly call: number;
  /** The object that has the method. */
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
  /**
   * It is there when the call can be followed: it can be aborted, and says how far it is when `progress` is true. The last of `args` are then
   * the method's options, without functions and signals, which cannot be cloned.
   */
  readonly follow?: { readonly progress: boolean };
}

/** The first message that is answered brings the engine's code. */
export type Question = { readonly kind: "load"; readonly call: number; readonly code: Code } | Invocation;

/**
 * A notice is not answered. The first says where the package's files are for the page, whose bundler may have moved them, and brings those that
 * the page's script carries. A model's files can be asked for while the code is still on its way.
 */
export type Notice =
  | { readonly kind: "files"; readonly places: Readonly<Record<OwnFile, string>>; readonly carried: CarriedFiles | undefined }
  | { readonly kind: "prefetch"; readonly source: string }
  | { readonly kind: "abort"; readonly call: number }
  | { readonly kind: "dispose"; readonly id: number };

/** All that a worker is sent. A thread has one message, its task, and does not answer any more. */
export type Message = Question | Notice | { readonly kind: "thread"; readonly task: ThreadTask };

export type Reply =
  | { readonly call: number; readonly progress: readonly number[] }
  | { readonly call: number; readonly answer: Answer };

/** An object in the worker, where it is an argument of a call. */
export interface Kept {
  readonly keptInWorker: number;
}

/** A new object in the worker: its number and its plain properties. */
export interface Reference {
  readonly id: number;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface ValueAnswer {
  readonly value: unknown;
  /** The length of the object now, when it is one that grows. */
  readonly length?: number;
}

export interface ReferenceAnswer {
  readonly reference: Reference;
}

/** Cloning an error would drop its class and its code, so that errors travel as plain data. */
export interface ErrorAnswer {
  readonly error: Fault & { readonly code: ErrorCode; readonly message: string; readonly stack: string | undefined };
}

export type Answer = ValueAnswer | ReferenceAnswer | ErrorAnswer;

/** A File as it travels: cloning between threads of Node would leave a Blob without a name. */
export interface NamedBlob {
  readonly name: string;
  readonly blob: Blob;
}
