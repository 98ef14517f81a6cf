// SPDX-License-Identifier: Apache-2.0
/** The worker's side: keeps the engine and what was made from it, and runs the methods that remote.ts asks for. */
import { releaseProxy, transfer, type ProxyMarked, type Remote } from "comlink";
import type { Following } from "../arguments/names.js";
import { canMove } from "../arguments/tensors.js";
import { prefetching } from "../files/model-folder.js";
import { asHeadlensError } from "../module/failures.js";
import type { Platform } from "../platform/platform.js";
import type { Code } from "../start/code.js";
import { createEngine } from "../start/instantiate.js";
import { HeadlensError, type ErrorCode } from "../types/errors.js";

/** What is held here and spoken to from the other thread. */
export type Hosted = Disposable & { dispose(): void };

/** A new hosted object: its number and its plain properties. */
export interface Reference {
  readonly id: number;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface ValueAnswer {
  readonly value: unknown;
  /** Of an object that grows: how long it is now. */
  readonly length?: number;
}

/** Errors travel as plain data, since comlink would drop their class and code. */
export type Answer =
  | ValueAnswer
  | { readonly reference: Reference }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly stack: string | undefined } };

/** A File as it travels: cloning between threads of Node would leave a Blob without a name. */
export interface NamedBlob {
  readonly name: string;
  readonly blob: Blob;
}

export type ProgressListener = (...progress: number[]) => void;

type Method = (...args: readonly unknown[]) => unknown;

function isHosted(value: unknown): value is Hosted {
  return typeof value === "object" && value !== null && "dispose" in value;
}

function isNamedBlobs(value: unknown): value is readonly NamedBlob[] {
  return Array.isArray(value) && value.every((item: Partial<NamedBlob> | null) => item?.blob instanceof Blob);
}

function withNames(value: unknown): unknown {
  return isNamedBlobs(value) ? value.map(({ name, blob }) => new File([blob], name)) : value;
}

/** The buffers of a result's arrays: results are the caller's own, so they move instead of being copied, but for those that are shared. */
function buffersOf(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) return canMove(value.buffer) ? [value.buffer] : [];
  if (typeof value !== "object" || value === null || (Array.isArray(value) && typeof value[0] !== "object")) return [];
  return Object.values(value).flatMap(buffersOf);
}

export class Host {
  readonly #objects = new Map<number, Hosted>();
  readonly #followed = new Map<number, AbortController>();
  #nextId = 0;

  #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Asks for a model's files while the code is still on its way. */
  prefetch(source: string): void {
    this.#platform = prefetching(source, this.#platform);
  }

  load(code: Code): Promise<Answer> {
    return this.#answer(() => createEngine(Promise.resolve(code), this.#platform));
  }

  invoke(id: number, method: string, args: readonly unknown[]): Promise<Answer> {
    return this.#answer(() => {
      const object = this.#objects.get(id) as Readonly<Record<string, Method>> | undefined;
      if (!object) throw new HeadlensError("disposed", "this object was disposed and cannot be used any more");
      return object[method]?.(...args);
    }, () => this.#objects.get(id));
  }

  /**
   * A call that can be followed; its options are the last of `args`, but for functions and signals, which cannot be cloned. `call` numbers
   * it for `abort`.
   */
  async invokeFollowed(
    call: number, id: number, method: string, args: readonly unknown[],
    onProgress?: Remote<ProgressListener & ProxyMarked>,
  ): Promise<Answer> {
    const abort = new AbortController();
    this.#followed.set(call, abort);
    let told: Promise<void> | undefined;
    try {
      const listener = onProgress && ((...progress: number[]): void => { told = onProgress(...progress); });
      const following: Following = { signal: abort.signal, ...(listener && { onProgress: listener }) };
      const options = args.at(-1) as object;
      return await this.invoke(id, method, [...args.slice(0, -1).map(withNames), { ...options, ...following }]);
    } finally {
      await told; // all progress is told before the answer
      this.#followed.delete(call);
      onProgress?.[releaseProxy]();
    }
  }

  abort(call: number): void {
    this.#followed.get(call)?.abort();
  }

  dispose(id: number): void {
    this.#objects.get(id)?.dispose();
    this.#objects.delete(id);
  }

  async #answer(call: () => unknown, of?: () => object | undefined): Promise<Answer> {
    try {
      const value = await call();
      if (isHosted(value)) return { reference: this.#keep(value) };
      const object = of?.();
      const answer: ValueAnswer = { value, ...(object && "length" in object && { length: object.length as number }) };
      return transfer(answer, buffersOf(value));
    } catch (thrown) {
      const { code, message, stack } = asHeadlensError(thrown, "internal", "in the worker");
      return { error: { code, message, stack } };
    }
  }

  #keep(object: Hosted): Reference {
    const id = this.#nextId++;
    this.#objects.set(id, object);
    return { id, properties: { ...object } };
  }
}
