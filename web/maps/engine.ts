// SPDX-License-Identifier: Apache-2.0
/** One engine, and one copy of each model, for all elements of a page. After a failure, the next call tries again. */
import { load } from "headlens";
import type { AsyncEngine, AsyncModel, LoadOptions } from "headlens";
import { kGiven } from "../state/address.js";
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

/** Takes the files of a model, and returns the name under which `sharedModel` knows it. */
export function giveModel(files: readonly File[]): string {
  const config = files.find(({ name }) => name === "config.json");
  const folder = config?.webkitRelativePath.split("/").at(-2) ?? "";
  const name = `${kGiven}${folder === "" ? given.size + 1 : folder}`;
  models.delete(name);
  given.set(name, files);
  return name;
}

/** The JSON file of this name in a model's folder; undefined where there is none, as for built-in models. */
export async function modelJson(source: string, name: string, signal: AbortSignal): Promise<unknown> {
  const file = given.get(source)?.find((one) => one.name === name);
  if (file) return JSON.parse(await file.text()) as unknown;
  if (given.has(source) || !/^(https?:|blob:|\.{0,2}\/)/.test(source)) return undefined;
  const response = await fetch(new URL(name, new URL(`${source.replace(/\/$/, "")}/`, document.baseURI)), { signal });
  return response.ok ? ((await response.json()) as unknown) : undefined;
}

const models = new Map<string, { model: Promise<AsyncModel>; listeners: Set<Progress> }>();

/**
 * The page's copy of a model, which is named by a built-in name or the URL of a Hugging Face folder, relative to the
 * document.
 */
export function sharedModel(source: string, onProgress?: Progress): Promise<AsyncModel> {
  const known = models.get(source);
  if (known) {
    if (onProgress) known.listeners.add(onProgress);
    return known.model;
  }
  const listeners = new Set<Progress>(onProgress ? [onProgress] : []);
  const report: Progress = (loaded, total) => listeners.forEach((listener) => listener(loaded, total));
  const from = given.get(source) ?? source;
  const model = sharedEngine(source).then((loaded) => loaded.loadModel(from, { onProgress: report }));
  models.set(source, { model, listeners });
  model.then(
    () => listeners.clear(),
    () => models.delete(source),
  );
  return model;
}
