// SPDX-License-Identifier: Apache-2.0
/** The worker's side keeps the engine and what was made from it, and runs the methods that remote.ts asks for. */
import type { Following } from "../arguments/options.js";
import { canMove } from "../arguments/tensors.js";
import { WasmEngine } from "../engine/engine.js";
import { prefetching } from "../files/model-folder.js";
import { asHeadlensError } from "../module/failures.js";
import { carrying, type Platform } from "../platform/platform.js";
import { createEngine } from "../start/instantiate.js";
import { HeadlensError } from "../types/errors.js";
import type { Answer, ErrorAnswer, Invocation, Kept, NamedBlob, Notice, Question, Reference, Reply } from "./messages.js";

/** An object that is kept here and spoken to from the other thread. */
type Hosted = Disposable & { dispose(): void };

type Method = (...args: readonly unknown[]) => unknown;

/** A message costs both threads a fraction of a millisecond, so that progress is told no more often than this (milliseconds). */
const kProgressMs = 8;

const kDisposed = (): HeadlensError => new HeadlensError("disposed", "this object was disposed and cannot be used any more");

function isKept(value: unknown): value is Kept {
  return typeof value === "object" && value !== null && "keptInWorker" in value;
}

function isHosted(value: unknown): value is Hosted {
  return typeof value === "object" && value !== null && "dispose" in value;
}

function isNamedBlobs(value: unknown): value is readonly NamedBlob[] {
  return Array.isArray(value) && value.every((item: Partial<NamedBlob> | null) => item?.blob instanceof Blob);
}

function withNames(value: unknown): unknown {
  return isNamedBlobs(value) ? value.map(({ name, blob }) => new File([blob], name)) : value;
}

/** Returns the buffers of a result's arrays. They move instead of being copied, as results are the caller's own, unless they are shared. */
function buffersOf(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) return canMove(value.buffer) ? [value.buffer] : [];
  if (typeof value !== "object" || value === null || (Array.isArray(value) && typeof value[0] !== "object")) return [];
  return Object.values(value).flatMap(buffersOf);
}

function failed(thrown: unknown): ErrorAnswer {
  const { code, message, argument, got, expected, stack } = asHeadlensError(thrown, "internal", "in the worker");
  return { error: { code, message, argument, got, expected, stack } };
}

export class Host {
  readonly #objects = new Map<number, Hosted>();
  readonly #followed = new Map<number, AbortController>();
  readonly #reply: (reply: Reply, transfer: ArrayBuffer[]) => void;
  #platform: Platform;
  #nextId = 0;

  /** `reply` sends to the other side; the buffers in `transfer` move there. */
  constructor(platform: Platform, reply: (reply: Reply, transfer: ArrayBuffer[]) => void) {
    this.#platform = platform;
    this.#reply = reply;
  }

  receive(message: Question | Notice): void {
    if (message.kind === "invoke") {
      this.#invoke(message);
    } else if (message.kind === "load") {
      void this.#answer(message.call, () => createEngine(WasmEngine, Promise.resolve(message.code), this.#platform));
    } else {
      this.#heed(message);
    }
  }

  #heed(notice: Notice): void {
    try {
      if (notice.kind === "files") {
        const { places, carried } = notice;
        this.#platform = { ...this.#platform, ownFile: (name) => new URL(places[name]) };
        if (carried) this.#platform = carrying(() => Promise.resolve(carried), this.#platform);
      } else if (notice.kind === "prefetch") {
        this.#platform = prefetching(notice.source, this.#platform);
      } else if (notice.kind === "abort") {
        this.#followed.get(notice.call)?.abort();
      } else {
        this.#objects.get(notice.id)?.dispose();
        this.#objects.delete(notice.id);
      }
    } catch {
      // Nobody waits for an answer. A later call reports what is wrong.
    }
  }

  #invoke({ call, id, method, args, follow }: Invocation): void {
    const run = (): unknown => {
      const object = this.#objects.get(id) as Readonly<Record<string, Method>> | undefined;
      if (!object) throw kDisposed();
      const found = args.map((argument) => this.#found(argument));
      if (!follow) return object[method]?.(...found);
      return this.#follow(call, follow.progress, found, (...all) => object[method]?.(...all));
    };
    void this.#answer(call, run, id).finally(() => this.#followed.delete(call));
  }

  /** Puts objects that are kept here in the place of what stands for them: an argument, or an option. */
  #found(argument: unknown): unknown {
    if (isKept(argument)) return this.#kept(argument);
    if (Object.prototype.toString.call(argument) !== "[object Object]") return argument;
    const options = Object.entries(argument as object) as [string, unknown][];
    if (!options.some(([, value]) => isKept(value))) return argument;
    return Object.fromEntries(options.map(([name, value]) => [name, isKept(value) ? this.#kept(value) : value]));
  }

  #kept({ keptInWorker }: Kept): Hosted {
    const object = this.#objects.get(keptInWorker);
    if (!object) throw kDisposed();
    return object;
  }

  /** Runs a method that can be aborted and says how far it is. Its last argument holds its options. */
  async #follow(call: number, progress: boolean, args: readonly unknown[], run: Method): Promise<unknown> {
    const abort = new AbortController();
    this.#followed.set(call, abort);
    let toldAt = performance.now();
    let untold: readonly number[] | undefined;
    let later: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      clearTimeout(later);
      if (untold) this.#reply({ call, progress: untold }, []);
      [untold, later, toldAt] = [undefined, undefined, performance.now()];
    };
    const onProgress = (...numbers: readonly number[]): void => {
      untold = numbers;
      const left = toldAt + kProgressMs - performance.now();
      if (left <= 0) tell();
      else later ??= setTimeout(tell, left); // it may be the last for long, as when a server pauses within a file
    };
    const following: Following = { signal: abort.signal, ...(progress && { onProgress }) };
    try {
      return await run(...args.slice(0, -1).map(withNames), { ...args.at(-1) as object, ...following });
    } finally {
      tell();
    }
  }

  /** Answers with what `run` gives or throws. `id` is the object that it was asked of, which may have grown. */
  async #answer(call: number, run: () => unknown, id?: number): Promise<void> {
    try {
      const value = await run();
      this.#reply({ call, answer: this.#answerOf(value, id) }, isHosted(value) ? [] : buffersOf(value));
    } catch (thrown) {
      this.#reply({ call, answer: failed(thrown) }, []);
    }
  }

  #answerOf(value: unknown, id: number | undefined): Answer {
    if (isHosted(value)) return { reference: this.#keep(value) };
    const object = id === undefined ? undefined : this.#objects.get(id);
    return { value, ...(object && "length" in object && { length: object.length as number }) };
  }

  #keep(object: Hosted): Reference {
    const id = this.#nextId++;
    this.#objects.set(id, object);
    return { id, properties: { ...object } };
  }
}
