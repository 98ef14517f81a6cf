// SPDX-License-Identifier: Apache-2.0
/** Runs of models. Elements that show the same share one run, which ends early when none of them wants it any more. */
import type { AsyncModel, AsyncModelAttention, ModelInfo, ModelInput } from "headlens";
import type { Options } from "./changes.js";
import type { Asked, Progress } from "./computing.js";
import { EngineMaps } from "./engine-maps.js";
import { sharedEngine, sharedModel } from "./engine.js";
import { both, causalMask, type CellMask, diagonalMask, kOpen } from "./mask.js";
import { type AttentionName, type Changes, isChanged, type Reading, type Run, sizeOf } from "./run.js";
import { kNoPicture, type Lease } from "./source.js";

/** Loads a model, which stays. Rejects when `signal` ends the wait for it. */
export async function loadModel(model: string, signal: AbortSignal, onProgress: Progress): Promise<void> {
  await sharedModel(model, onProgress, signal);
}

/** True for a model that reads pictures. It is loaded if it is not yet. */
export const readsPictures = async (model: string): Promise<boolean> =>
  (await sharedModel(model)).info.image !== undefined;

/** A run that is under way or held. */
interface Held {
  readonly maps: Promise<EngineMaps>;
  readonly abort: AbortController;
  /** Told the share of the run that is done. */
  readonly listeners: Set<(done: number) => void>;
  users: number;
}

/** The runs by what is asked for. */
const held = new Map<string, Held>();

function start(asked: Asked): Held {
  const abort = new AbortController();
  const listeners: Held["listeners"] = new Set();
  const maps = compute(asked, abort.signal, (done) => listeners.forEach((listener) => listener(done)));
  return { maps, abort, listeners, users: 0 };
}

/**
 * Runs the model on an input, or on as much of the beginning of a text as the model has positions for. `onProgress` is
 * told the share that is done.
 */
export async function modelMaps(asked: Asked, signal: AbortSignal, onProgress: (done: number) => void): Promise<Lease> {
  const key = JSON.stringify(asked);
  const run = held.get(key) ?? start(asked);
  held.set(key, run);
  run.users++;
  run.listeners.add(onProgress);
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    if (--run.users > 0) return;
    if (held.get(key) === run) held.delete(key);
    run.abort.abort();
    run.maps.then((maps) => (maps.run as ModelRun).release(), () => undefined);
  };
  signal.addEventListener("abort", release);
  try {
    const maps = await run.maps;
    signal.throwIfAborted();
    return { maps, release };
  } catch (error) {
    release();
    throw error;
  } finally {
    signal.removeEventListener("abort", release);
    run.listeners.delete(onProgress);
  }
}

/** The streams and values of longer texts are not kept, since they would take much memory. */
const kKeptLength = 16_384;

/** The last run of each model that is held. */
const latest = new Map<AsyncModel, ModelRun>();

async function compute(asked: Asked, signal: AbortSignal, onProgress: (done: number) => void): Promise<EngineMaps> {
  const { reading, changes } = asked;
  const [engine, model, code] = await Promise.all([
    sharedEngine(reading.model),
    sharedModel(reading.model),
    // The code that only some runs need comes beside the model.
    isChanged(changes) ? import("./changes.js") : undefined,
    reading.image === "" ? undefined : import("./pictures.js"),
  ]);
  const { info } = model;
  const shown: AttentionName = info.encoder ? asked.attention : "decoder";
  const { textPair } = reading;
  const input = await inputOf(reading, info);
  // Of a text that begins as the last one did, only the rest is computed.
  const unchanged = await (latest.get(model)?.unchanged ?? model).attend(input, {
    truncate: true,
    ...(textPair !== "" && { textPair }),
    ...(reading.text.length <= kKeptLength && { keepHidden: info.logits > 0, keepValues: info.causal }),
    signal,
    onProgress,
  });
  try {
    const options = code?.optionsOf(changes, info, unchanged.tokens.length);
    const again = { ...options, keepHidden: info.logits > 0, signal, onProgress };
    const attention = options ? await unchanged.again(again) : unchanged;
    const steps = code?.stepsOf(changes, info) ?? {};
    const facts = { engine, model, info, reading, input, changes, shown, steps, attention, unchanged };
    const run = new ModelRun(facts, options ?? {});
    const maps = await mapsOf(run);
    latest.set(model, run);
    return maps;
  } catch (error) {
    unchanged.dispose();
    throw error;
  }
}

async function inputOf({ text, source, image }: Reading, info: ModelInfo): Promise<ModelInput> {
  if (info.image) {
    if (image === "") throw Object.assign(new Error("image is missing: this model reads pictures"), { code: kNoPicture });
    const { pictureAt } = await import("./pictures.js");
    return pictureAt(image);
  }
  if (!info.encoder) return text;
  if (source === "") throw new Error("source is missing: this model translates one text, source, into another, text");
  return { source, target: text };
}

type Facts = Pick<Run, "engine" | "model" | "info" | "reading" | "input" | "changes" | "shown" | "steps" | "attention" | "unchanged">;

class ModelRun implements Run {
  declare readonly engine: Run["engine"];
  declare readonly model: AsyncModel;
  declare readonly info: ModelInfo;
  declare readonly reading: Reading;
  declare readonly input: ModelInput;
  declare readonly changes: Changes;
  declare readonly shown: AttentionName;
  declare readonly steps: Run["steps"];
  declare readonly attention: AsyncModelAttention;
  declare readonly unchanged: AsyncModelAttention;
  #explained: Promise<AsyncModelAttention> | undefined;

  constructor(facts: Facts, private readonly options: Options) {
    Object.assign(this, facts);
  }

  get of(): { attention?: AttentionName } {
    return this.info.encoder ? { attention: this.shown } : {};
  }

  explained(): Promise<AsyncModelAttention> {
    const again = { ...this.options, keepHidden: true, keepParts: true, keepValues: true };
    this.#explained ??= this.unchanged.again(again).catch((error: unknown) => {
      this.#explained = undefined;
      throw error;
    });
    return this.#explained;
  }

  release(): void {
    if (latest.get(this.model) === this) latest.delete(this.model);
    this.#explained?.then((explained) => explained.dispose(), () => undefined);
    if (this.attention !== this.unchanged) this.attention.dispose();
    this.unchanged.dispose();
  }
}

/** The tokens as readers see them. Few texts have a character whose bytes are split, for which there is more code. */
async function namesOf(tokens: readonly string[]): Promise<readonly string[]> {
  if (!tokens.some((token) => token.includes("\u27e8"))) return tokens;
  const { shownTokens } = await import("./characters.js");
  return shownTokens(tokens);
}

async function mapsOf(run: ModelRun): Promise<EngineMaps> {
  const { attention, info, changes, shown, of } = run;
  const { tokens, tokenCount, sourceTokens = [] } = attention;
  const { layers, heads } = sizeOf(info, shown);
  const isTarget = shown !== "encoder";
  const isCausal = shown === "decoder" && (info.causal || changes.causal);
  const masks = Array.from({ length: layers }, (_, layer): CellMask => {
    const own = isCausal ? causalMask(info.windows[layer]) : kOpen;
    return shown === "decoder" && changes.forbid.length > 0 ? both(diagonalMask(changes.forbid), own) : own;
  });
  const chosen = info.encoder ? {
    map: (layer: number, head: number, options?: object | null) => attention.map(layer, head, { ...options, ...of }),
    overview: (layer: number, options?: object | null) => attention.overview(layer, { ...options, ...of }),
    rowSummaries: (layer: number, head: number, options?: object | null) =>
      attention.rowSummaries(layer, head, { ...options, ...of }),
  } : attention;
  const rows = isTarget ? tokens : sourceTokens;
  const cols = shown === "decoder" ? tokens : sourceTokens;
  const names = await namesOf(rows);
  return new EngineMaps(chosen, {
    tokens: names,
    keyTokens: cols === rows ? names : await namesOf(cols),
    pieces: { rows, cols },
    tokenCount: isTarget ? tokenCount : sourceTokens.length,
    heads: Array<number>(layers).fill(heads),
    maskOf: (layer) => masks[layer] ?? kOpen,
    run,
  });
}
