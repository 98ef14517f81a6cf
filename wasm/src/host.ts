// SPDX-License-Identifier: Apache-2.0
/** The worker's side: keeps the engine and what was made from it, and runs the methods that remote.ts asks for. */
import { releaseProxy, transfer, type ProxyMarked, type Remote } from "comlink";
import { HeadlensError, type ErrorCode } from "./errors.js";
import { asHeadlensError } from "./failures.js";
import { createEngine } from "./instantiate.js";
import type { Platform } from "./platform.js";
import type { Engine, LoadModelOptions, LoadOptions } from "./types.js";

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

export type ProgressListener = (loaded: number, total: number) => void;

type Method = (...args: readonly unknown[]) => unknown;

function isHosted(value: unknown): value is Hosted {
  return typeof value === "object" && value !== null && "dispose" in value;
}

/** The buffers of a result's arrays: results are the caller's own, so they move instead of being copied. */
function buffersOf(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.values(value).flatMap(buffersOf);
}

export class Host {
  readonly #objects = new Map<number, Hosted>();
  readonly #loads = new Map<number, AbortController>();
  #nextId = 0;

  constructor(private readonly platform: Platform) {}

  load(options: LoadOptions): Promise<Answer> {
    return this.#answer(() => createEngine(options, this.platform));
  }

  invoke(id: number, method: string, args: readonly unknown[]): Promise<Answer> {
    return this.#answer(() => {
      const object = this.#objects.get(id) as Readonly<Record<string, Method>> | undefined;
      if (!object) throw new HeadlensError("disposed", "this object was disposed and cannot be used any more");
      return object[method]?.(...args);
    }, () => this.#objects.get(id));
  }

  /** `load` numbers this call for `abort`. Functions and signals cannot be cloned, so they come apart from the options. */
  async loadModel(
    id: number, load: number, given: string | readonly NamedBlob[], onProgress?: Remote<ProgressListener & ProxyMarked>,
  ): Promise<Answer> {
    const source = typeof given === "string" ? given : given.map(({ name, blob }) => new File([blob], name));
    const abort = new AbortController();
    this.#loads.set(load, abort);
    try {
      const listener = onProgress && ((loaded: number, total: number): void => void onProgress(loaded, total));
      const options: LoadModelOptions = { signal: abort.signal, ...(listener && { onProgress: listener }) };
      return await this.#answer(() => (this.#objects.get(id) as Engine).loadModel(source, options));
    } finally {
      this.#loads.delete(load);
      onProgress?.[releaseProxy]();
    }
  }

  abort(load: number): void {
    this.#loads.get(load)?.abort();
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
