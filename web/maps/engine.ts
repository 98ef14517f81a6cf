// SPDX-License-Identifier: Apache-2.0
/** One engine, and one copy of each model, for all elements of a page. After a failure, the next call tries again. */
import { load } from "headlens";
import type { AsyncEngine, AsyncModel, LoadOptions } from "headlens";
import { kGiven } from "../state/given.js";
import type { Progress } from "./computing.js";

/** The engine warms up while a model is on its way. One that comes within so many milliseconds goes first. */
const kWarmUpAfter = 100;

let engine: Promise<AsyncEngine> | undefined;

/** The page's engine, which runs in a worker where the page's policy allows one. `model` is the model that will be needed first, when that is known. */
export function sharedEngine(model?: string): Promise<AsyncEngine> {
  engine ??= start(model).catch((error: unknown) => {
    engine = undefined;
    throw error;
  });
  return engine;
}

export const isStarted = (): boolean => engine !== undefined;

/** A string that is not a URL is not prefetched; loadModel will report it to its caller. */
async function start(model: string | undefined): Promise<AsyncEngine> {
  const isKnown = model !== undefined && !given.has(model) && URL.canParse(model, document.baseURI);
  const started = await startAnywhere(isKnown ? { prefetch: model } : {});
  setTimeout(() => {
    // Without it everything works the same, but is slower at first.
    started.warmUp().catch((error: unknown) => console.warn("headlens could not warm up:", error));
  }, kWarmUpAfter);
  return started;
}

/** An engine on the page's own thread is awaited like one in a worker. */
async function startAnywhere(options: LoadOptions): Promise<AsyncEngine> {
  try {
    return await load({ ...options, worker: true });
  } catch (error) {
    const engine = await load({ ...options, worker: false });
    console.warn("headlens computes on the page's main thread, since no worker can be started:", error);
    return engine as unknown as AsyncEngine;
  }
}

/** The files of models that a reader gave to this page, by the names that the page gives them. */
const given = new Map<string, readonly File[]>();

/** Takes the files of a model, and returns the name under which `sharedModel` knows it, after the folder where that is known. */
export function giveModel(files: readonly File[], folder?: string): string {
  const config = files.find(({ name }) => name === "config.json");
  const known = folder ?? config?.webkitRelativePath.split("/").at(-2) ?? "";
  const name = `${kGiven}${known === "" ? given.size + 1 : known}`;
  const free = given.has(name) ? `${name} ${given.size + 1}` : name;
  given.set(free, files);
  return free;
}

/** The files that a reader gave of a model; undefined for others. */
export const givenFiles = (source: string): readonly File[] | undefined => given.get(source);

/** A model that is loading or there. */
interface Shared {
  readonly model: Promise<AsyncModel>;
  readonly abort: AbortController;
  readonly listeners: Set<Progress>;
  /** The number of those who wait for it, which is never 0 again once it is there. */
  waiting: number;
}

const models = new Map<string, Shared>();

function startLoading(source: string): Shared {
  const abort = new AbortController();
  const listeners = new Set<Progress>();
  const onProgress: Progress = (loaded, total) => listeners.forEach((listener) => listener(loaded, total));
  const from = given.get(source) ?? source;
  const options = { onProgress, signal: abort.signal, keep: true };
  const model = sharedEngine(source).then((loaded) => loaded.loadModel(from, options));
  const shared = { model, abort, listeners, waiting: 0 };
  models.set(source, shared);
  model.then(
    () => {
      listeners.clear();
      shared.waiting = Infinity; // it stays
    },
    () => models.get(source) === shared && models.delete(source),
  );
  return shared;
}

/**
 * The page's copy of a model, which is named by a built-in name or the URL of a Hugging Face folder or page, relative
 * to the document. `signal` ends the wait for it. When nobody waits any more, a model is no longer loaded; one that is there stays.
 */
export async function sharedModel(source: string, onProgress?: Progress, signal?: AbortSignal): Promise<AsyncModel> {
  signal?.throwIfAborted();
  const shared = models.get(source) ?? startLoading(source);
  if (onProgress) shared.listeners.add(onProgress);
  shared.waiting++;
  const end = (): void => {
    if (onProgress) shared.listeners.delete(onProgress);
    if (--shared.waiting > 0) return;
    if (models.get(source) === shared) models.delete(source);
    shared.abort.abort();
  };
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      end();
      reject(signal.reason as Error);
    }, { once: true });
    shared.model.then(resolve, reject);
  });
}
