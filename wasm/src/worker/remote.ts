// SPDX-License-Identifier: Apache-2.0
/** The caller's side of an engine in a worker: each object here stands for one that host.ts keeps there. */
import type { Caller } from "../arguments/names.js";
import { checkAborted, checkFollowed, checkSource, type Following, isBuiltIn } from "../arguments/options.js";
import { asHeadlensError, reading } from "../module/failures.js";
import { Resource } from "../module/resource.js";
import { kOwnFiles, type OwnFile } from "../platform/own-files.js";
import { absoluteUrl, type Platform, type WorkerLink } from "../platform/platform.js";
import type { Code } from "../start/code.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AgainOptions, AsyncAttentionMaps, AsyncDecoding, AsyncDifference, AsyncEngine, AsyncModel, AsyncModelAttention,
  AttendOptions, EngineInfo, FollowedAgainOptions, FollowedAttendOptions, HeadPath, LoadModelOptions, Maybe, MetricName,
  ModelInfo, ModelInput, ModelMetricName, ModelSource, PathsOptions, RankedHead, RankOptions,
} from "../types/index.js";
import { Connection, type ProgressListener } from "./connection.js";
import type { Answer, ErrorAnswer, NamedBlob, Reference, ReferenceAnswer, ValueAnswer } from "./messages.js";
import { type Called, type Kind, kMakers, kValueMethods } from "./methods.js";
import { type Keeper, sendable } from "./sending.js";

type Success = Exclude<Answer, ErrorAnswer>;

class RemoteObject extends Resource<number> {
  constructor(
    kind: Kind, protected readonly connection: Connection, reference: Reference, owner?: RemoteObject,
    what: string = kind,
  ) {
    super(what, () => reference.id, owner);
    Object.assign(this, reference.properties);
    for (const method of kValueMethods[kind]) {
      Object.assign(this, { [method]: (...args: readonly unknown[]) => this.#value(method, args) });
    }
    for (const [maker, made] of Object.entries<keyof typeof kMade>(kMakers[kind])) {
      Object.assign(this, { [maker]: (...args: readonly unknown[]) => this.make(made, maker, args) });
    }
  }

  protected override release(id: number): void {
    this.connection.tell({ kind: "dispose", id });
  }

  /** Objects of another worker have numbers of their own, so that they cannot be arguments here. */
  readonly #keeper: Keeper = (value) => {
    if (!(value instanceof RemoteObject)) return undefined;
    if (value.connection !== this.connection) throw new HeadlensError("option", "an argument belongs to another engine");
    return { keptInWorker: value.held };
  };

  async #value(method: string, args: readonly unknown[]): Promise<unknown> {
    const { value, length } = await this.#invoke(method, args) as ValueAnswer;
    if (length !== undefined) Object.assign(this, { length });
    return value;
  }

  protected async make<K extends keyof typeof kMade>(
    kind: K, maker: string, args: readonly unknown[],
  ): Promise<InstanceType<(typeof kMade)[K]>> {
    const { reference } = await this.#invoke(maker, args) as ReferenceAnswer;
    return this.made(kind, maker, reference);
  }

  /** Takes over an object that a method of this one made. */
  protected made<K extends keyof typeof kMade>(
    kind: K, maker: string, reference: Reference,
  ): InstanceType<(typeof kMade)[K]> {
    const what = kind === "layer" ? maker : kind; // messages call a layer by the method that made it
    return new kMade[kind](this.connection, reference, this.owning, what) as InstanceType<(typeof kMade)[K]>;
  }

  /** The owner of what this object makes. */
  protected get owning(): RemoteObject {
    return this;
  }

  /** Makes a run of a model, followed or not. */
  protected async run(method: "attend" | "again", options: unknown, ...args: readonly unknown[]): Promise<RemoteModelAttention> {
    const { signal, onProgress, ...rest } = checkFollowed<AttendOptions>(method, options);
    if (!signal && !onProgress) return this.make("attention", method, [...args, rest]);
    const answer = await this.follow(method, { signal, onProgress, ...rest }, () => args);
    return this.made("attention", method, (answer as ReferenceAnswer).reference);
  }

  async #invoke(method: string, args: readonly unknown[]): Promise<Success> {
    const id = this.held;
    const call = this.connection.nextCall();
    return this.connection.ask(call, () => {
      const { args: sent, transfer } = sendable(args, this.#keeper);
      return { question: { kind: "invoke", call, id, method, args: sent }, transfer };
    });
  }

  /** Makes a call whose progress is told and that can be aborted. Functions and signals cannot be cloned and go another way. */
  protected async follow(
    method: Caller, { signal, onProgress, ...options }: Following, argsOf: () => readonly unknown[],
  ): Promise<Success> {
    const id = this.held;
    const call = this.connection.nextCall();
    const onAbort = (): void => this.connection.tell({ kind: "abort", call });
    const thrown: unknown[] = []; // the caller's onProgress threw it, once
    const listener: ProgressListener | undefined = onProgress && ((...progress) => {
      if (thrown.length > 0) return;
      try {
        onProgress(...progress);
      } catch (error) {
        thrown.push(error);
        onAbort();
      }
    });
    signal?.addEventListener("abort", onAbort);
    try {
      checkAborted(method, { ...(signal && { signal }) });
      const { args, transfer } = reading("an argument", () => sendable([...argsOf(), options], this.#keeper));
      const follow = { progress: listener !== undefined };
      const answer = await this.connection.ask(
        call, () => ({ question: { kind: "invoke", call, id, method, args, follow }, transfer }), listener);
      if (thrown.length === 0) return answer;
      // The call was done before it could be aborted, and what it made is of no use to anybody.
      if ("reference" in answer) this.connection.tell({ kind: "dispose", id: answer.reference.id });
      throw thrown[0];
    } catch (error) {
      throw thrown.length > 0 ? thrown[0] : error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

/** A class of objects that have the methods which methods.ts names for their kind. */
type RemoteClass<K extends Kind> = new (
  connection: Connection, reference: Reference, owner?: RemoteObject, what?: string,
) => RemoteObject & Called<K>;

function remote<K extends Kind>(kind: K): RemoteClass<K> {
  class Made extends RemoteObject {
    constructor(connection: Connection, reference: Reference, owner?: RemoteObject, what?: string) {
      super(kind, connection, reference, owner, what);
    }
  }
  return Made as unknown as RemoteClass<K>; // the constructor of RemoteObject gives it the methods
}

/** A worker's own address is another one, so what is relative for the caller becomes absolute here. */
function transportable(option: string, source: string | URL, platform: Platform): string {
  return isBuiltIn(source) ? String(source) : absoluteUrl(option, source, platform).href;
}

class RemoteEngine extends remote("engine") implements AsyncEngine {
  declare readonly info: EngineInfo;

  constructor(connection: Connection, reference: Reference, private readonly platform: Platform) {
    super(connection, reference);
  }

  async warmUp(): Promise<void> {
    const { warmUp } = await import("../engine/warm-up.js");
    return warmUp(this, () => this.connection.idle());
  }

  protected override release(): void {
    this.connection.end(new HeadlensError("disposed", "this engine was disposed and cannot be used any more"));
  }

  async loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<AsyncModel> {
    const followed = checkFollowed<LoadModelOptions>("loadModel", options);
    const answer = await this.follow("loadModel", followed, () => [this.#transportable(source)]);
    return new RemoteModel(this.connection, (answer as ReferenceAnswer).reference, this);
  }

  #transportable(source: ModelSource): string | NamedBlob[] {
    const checked = checkSource(source);
    if (typeof checked === "string" || checked instanceof URL) return transportable("source", checked, this.platform);
    return checked.map((file) => ({ name: file.name, blob: file.slice() }));
  }
}

class RemoteLayer extends remote("layer") {
  declare readonly parameterCount: number;
}

class RemoteCache extends remote("cache") {
  readonly length: number = 0;
}

class RemoteModel extends remote("model") implements AsyncModel {
  declare readonly info: ModelInfo;

  attend(input: ModelInput, options?: Maybe<AttendOptions | FollowedAttendOptions>): Promise<AsyncModelAttention> {
    return this.run("attend", options, input);
  }

  async rankHeads<M extends MetricName | ModelMetricName>(
    inputs: readonly ModelInput[], options?: Maybe<RankOptions<M>>,
  ): Promise<RankedHead<M>[]> {
    const followed = checkFollowed<RankOptions>("rankHeads", options);
    return (await this.follow("rankHeads", followed, () => [inputs]) as ValueAnswer).value as RankedHead<M>[];
  }
}

class RemoteModelAttention extends remote("attention") implements AsyncModelAttention {
  readonly #model: RemoteObject;

  constructor(connection: Connection, reference: Reference, model: RemoteObject, what?: string) {
    super(connection, reference, model, what);
    this.#model = model;
  }

  /** Runs that this one makes belong to its model, so that they can be disposed of in any order. */
  protected override get owning(): RemoteObject {
    return this.#model;
  }

  attend(input: ModelInput, options?: Maybe<AttendOptions | FollowedAttendOptions>): Promise<AsyncModelAttention> {
    return this.run("attend", options, input);
  }

  again(options?: Maybe<AgainOptions | FollowedAgainOptions>): Promise<AsyncModelAttention> {
    return this.run("again", options);
  }

  async paths(options?: Maybe<PathsOptions>): Promise<HeadPath[]> {
    const followed = checkFollowed<PathsOptions>("paths", options);
    return (await this.follow("paths", followed, () => []) as ValueAnswer).value as HeadPath[];
  }

  declare readonly tokens: readonly string[];
  declare readonly ids: readonly number[];
  declare readonly tokenCount: number;
  declare readonly patches?: readonly [number, number];
  declare readonly sourceTokens?: readonly string[];
  declare readonly sourceIds?: readonly number[];
}

class RemoteAttentionMaps extends remote("attentionMaps") implements AsyncAttentionMaps {
  declare readonly batches: number;
  declare readonly heads: number;
  declare readonly queries: number;
  declare readonly keys: number;
}

class RemoteDifference extends remote("difference") implements AsyncDifference {
  declare readonly pairs: readonly (readonly [number, number])[];
  declare readonly sourcePairs?: readonly (readonly [number, number])[];
}

class RemoteDecoding extends remote("decoding") implements AsyncDecoding {}

/** Methods make objects of these classes. */
const kMade = {
  layer: RemoteLayer, cache: RemoteCache, attention: RemoteModelAttention, attentionMaps: RemoteAttentionMaps,
  decoding: RemoteDecoding, difference: RemoteDifference,
};

function placesOf(platform: Platform): Record<OwnFile, string> {
  const entries = Object.keys(kOwnFiles).map((name) => [name, platform.ownFile(name as OwnFile).href]);
  return Object.fromEntries(entries) as Record<OwnFile, string>;
}

/** Starts a worker, and the engine in it when the code is there. */
export async function createRemoteEngine(
  code: Promise<Code>, platform: Platform, prefetch?: string | URL,
): Promise<AsyncEngine> {
  const early = prefetch === undefined ? undefined : transportable("prefetch", prefetch, platform);
  let link: WorkerLink;
  try {
    link = platform.startWorker();
  } catch (error) {
    throw asHeadlensError(error, "wasm-load", "the worker cannot be started");
  }
  const connection = new Connection(link);
  try {
    const carried = platform.carried && await platform.carried();
    connection.tell({ kind: "files", places: placesOf(platform), carried });
    if (early !== undefined) connection.tell({ kind: "prefetch", source: early });
    const compiled = await connection.whileAlive(() => code);
    const call = connection.nextCall();
    const answer = await connection.ask(call, () => ({ question: { kind: "load", call, code: compiled }, transfer: [] }));
    return new RemoteEngine(connection, (answer as ReferenceAnswer).reference, platform);
  } catch (error) {
    connection.end(error as HeadlensError);
    throw error;
  }
}
