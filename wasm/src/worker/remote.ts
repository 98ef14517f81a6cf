// SPDX-License-Identifier: Apache-2.0
/** The caller's side of an engine in a worker: each object here stands for one that host.ts keeps there. */
import { proxy, type Remote, transfer, wrap } from "comlink";
import {
  type Caller, checkAborted, checkFollowed, checkSource, type Following, isAbsent, isBuiltIn, kCamelNames, propertiesOf,
} from "../arguments/names.js";
import {
  canMove, entriesOf, expectOutThere, expectThere, isPart, isTensorLike, type Outputs, outputs, plain, type Seen,
  viewOfOutput,
} from "../arguments/tensors.js";
import type { Results } from "../engine/problem.js";
import { warmUp } from "../engine/warm-up.js";
import { asHeadlensError, reading } from "../module/failures.js";
import { Resource } from "../module/resource.js";
import { absoluteUrl, type Platform, type WorkerLink } from "../platform/platform.js";
import type { Code } from "../start/code.js";
import { HeadlensError } from "../types/errors.js";
import type {
  AsyncCachedAttention, AsyncDecoderLayerCache, AsyncDecoding, AsyncEmbedding, AsyncEngine, AsyncLayerCache,
  AsyncModel, AsyncModelAttention, AsyncMultiheadAttention, AsyncTransformerDecoderLayer,
  AsyncTransformerEncoderLayer, AttendOptions, CacheOptions, DecodingOptions, DecodingStep,
  EmbeddingOptions, EngineInfo, Image, LayerWeights, LoadModelOptions, LogitsOptions, MapOptions, Maybe,
  MetricName, ModelInfo, ModelInput, ModelMetricName, ModelSource, MultiheadAttentionOptions, PixelsOptions, RankedHead,
  RankOptions,
  StateDict, Tensor, TransformerLayerOptions,
} from "../types/index.js";
import type { Answer, Host, NamedBlob, Reference, ValueAnswer } from "./host.js";

/** A parcel holds what goes to the worker. All of it has to be there still when the last argument has been read. */
interface Parcel {
  /** Tensors, whose elements are copied. */
  readonly tensors: Seen[];
  /** Arrays of the option `out`, whose buffers move. Memory that is shared anyway stays where it is. */
  readonly outs: Outputs[];
}

/** Arguments as they can be sent. */
function sendable(args: readonly unknown[]): unknown[] {
  const parcel: Parcel = { tensors: [], outs: [] };
  const sent = args.map((value) => cloneable("an argument", value, parcel));
  expectThere(parcel.tensors);
  parcel.outs.forEach(expectOutThere);
  const views = parcel.outs.flatMap((out) => Array.from(out.values(), viewOfOutput));
  return transfer(sent, views.map(({ buffer }) => buffer).filter(canMove));
}

/** Tensors and options anywhere in the arguments as plain objects: structured cloning would drop what they have through a class. */
function cloneable(name: string, value: unknown, parcel: Parcel): unknown {
  if (isTensorLike(value)) return plain(name, value, parcel.tensors);
  if (Array.isArray(value)) return value.map((item) => cloneable(name, item, parcel));
  if (isState(value)) return new Map(entriesOf(name, value).map(([key, item]) => [key, cloneable(key, item, parcel)]));
  if (Object.prototype.toString.call(value) !== "[object Object]") return value;
  const properties = propertiesOf(value as object, kCamelNames).map(([key, item]) => {
    const isOut = key === "out" && !isAbsent(item) && !isTensorLike(item); // a parameter could have that name
    return [key, isOut ? moving(item, parcel) : cloneable(key, item, parcel)];
  });
  return Object.fromEntries(properties) as object;
}

/** Returns true for a state dict that is no plain object. */
function isState(value: unknown): boolean {
  const isObject = typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
  return isObject && Symbol.iterator in value;
}

/** The option `out`. */
function moving(given: unknown, parcel: Parcel): object {
  const out = outputs(given);
  parcel.outs.push(out);
  const tensors = Array.from(out, ([name, place]) => {
    const view = viewOfOutput(place);
    if (isPart(view)) {
      throw new HeadlensError("value", `out.${name}: data is part of a larger buffer, which cannot move to the worker`);
    }
    return [name, { data: view, shape: [view.length] }];
  });
  return Object.fromEntries(tensors) as object;
}

/** The worker and the calls under way, which must not wait for ever when it ends. */
class Connection {
  readonly #remote: Remote<Host>;
  readonly #pending = new Set<(error: HeadlensError) => void>();
  #ended: HeadlensError | undefined;
  #hasAnswered = false;

  constructor(private readonly link: WorkerLink) {
    this.#remote = wrap<Host>(link.endpoint);
    link.onFailure((message) => {
      this.end(new HeadlensError(this.#hasAnswered ? "internal" : "wasm-load", `the worker failed: ${message}`));
    });
  }

  end(reason: HeadlensError): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.link.terminate();
    for (const reject of this.#pending) reject(reason);
    this.#pending.clear();
  }

  async ask(call: (remote: Remote<Host>) => Promise<Answer>): Promise<Exclude<Answer, { error: unknown }>> {
    if (this.#ended) throw this.#ended;
    const answer = await this.#settled(call);
    this.#hasAnswered = true;
    if (!("error" in answer)) return answer;
    const error = new HeadlensError(answer.error.code, answer.error.message);
    if (answer.error.stack !== undefined) error.stack = answer.error.stack;
    throw error;
  }

  tell(call: (remote: Remote<Host>) => Promise<void>): void {
    if (!this.#ended) call(this.#remote).catch(() => undefined);
  }

  async #settled(call: (remote: Remote<Host>) => Promise<Answer>): Promise<Answer> {
    let fail: (error: HeadlensError) => void = () => undefined;
    const ended = new Promise<never>((_, reject) => { fail = reject; });
    this.#pending.add(fail);
    this.link.setBusy(true);
    try {
      return await Promise.race([call(this.#remote), ended]);
    } catch (error) {
      throw asHeadlensError(error, "value", "the arguments cannot be sent to the worker");
    } finally {
      this.#pending.delete(fail);
      if (this.#pending.size === 0) this.link.setBusy(false);
    }
  }
}

abstract class RemoteObject extends Resource<number> {
  constructor(what: string, protected readonly connection: Connection, reference: Reference, owner?: RemoteObject) {
    super(what, () => reference.id, owner);
    Object.assign(this, reference.properties);
  }

  protected override release(id: number): void {
    this.connection.tell((remote) => remote.dispose(id));
  }

  protected async value<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    const id = this.held;
    const answer = await this.connection.ask((remote) => remote.invoke(id, method, sendable(args)));
    const { value, length } = answer as ValueAnswer;
    if (length !== undefined) Object.assign(this, { length });
    return value as T;
  }

  protected async reference(method: string, ...args: readonly unknown[]): Promise<Reference> {
    const id = this.held;
    const answer = await this.connection.ask((remote) => remote.invoke(id, method, sendable(args)));
    return (answer as { reference: Reference }).reference;
  }

  /** A call whose progress is told and that can be aborted; functions and signals cannot be cloned and go another way. */
  protected async follow(
    method: Caller, { signal, onProgress, ...options }: Following, argsOf: () => readonly unknown[],
  ): Promise<Exclude<Answer, { error: unknown }>> {
    const id = this.held;
    const call = nextFollowed++;
    const onAbort = (): void => this.connection.tell((remote) => remote.abort(call));
    const thrown: unknown[] = []; // by the caller's onProgress, once
    const listener = onProgress && proxy((...progress: number[]) => {
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
      const args = reading("an argument", () => sendable([...argsOf(), options]));
      const answer = await this.connection.ask((remote) => remote.invokeFollowed(call, id, method, args, listener));
      if (thrown.length === 0) return answer;
      if ("reference" in answer) this.connection.tell((remote) => remote.dispose(answer.reference.id)); // it was done already
      throw thrown[0];
    } catch (error) {
      throw thrown.length > 0 ? thrown[0] : error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

let nextFollowed = 0;

/** A worker's own address is another one, so what is relative for the caller becomes absolute here. */
function transportable(option: string, source: string | URL, platform: Platform): string {
  return isBuiltIn(source) ? String(source) : absoluteUrl(option, source, platform).href;
}

class RemoteEngine extends RemoteObject implements AsyncEngine {
  declare readonly info: EngineInfo;

  readonly scaledDotProductAttention = this.#method("scaledDotProductAttention");
  readonly metrics = this.#method("metrics");
  readonly headMetrics = this.#method("headMetrics");
  readonly headMetricCounts = this.#method("headMetricCounts");
  readonly headSimilarity = this.#method("headSimilarity");
  readonly headImportance = this.#method("headImportance");
  readonly pruningCurve = this.#method("pruningCurve");
  readonly rollout = this.#method("rollout");
  readonly flow = this.#method("flow");
  readonly weightedMap = this.#method("weightedMap");
  readonly layerNorms = this.#method("layerNorms");
  readonly mixingRatio = this.#method("mixingRatio");
  readonly valueZeroing = this.#method("valueZeroing");
  readonly circuits = this.#method("circuits");
  readonly compositionScores = this.#method("compositionScores");
  readonly sinusoidalPositions = this.#method("sinusoidalPositions");
  readonly alibiSlopes = this.#method("alibiSlopes");
  readonly t5Bucket = this.#method("t5Bucket");
  readonly colorize = this.#method("colorize");
  readonly colorbar = this.#method("colorbar");
  readonly heapBytes = this.#method("heapBytes");

  constructor(connection: Connection, reference: Reference, private readonly platform: Platform) {
    super("engine", connection, reference);
  }

  /** The method of this name over there, whose result is a value. */
  #method<K extends keyof AsyncEngine & string>(name: K): AsyncEngine[K] {
    return ((...args: readonly unknown[]) => this.value(name, ...args)) as AsyncEngine[K];
  }

  warmUp(): Promise<void> {
    return warmUp(this);
  }

  protected override release(): void {
    this.connection.end(new HeadlensError("disposed", "this engine was disposed and cannot be used any more"));
  }

  async cachedAttention(options?: Maybe<CacheOptions>): Promise<AsyncCachedAttention> {
    return new RemoteCache("cache", this.connection, await this.reference("cachedAttention", options), this);
  }

  async multiheadAttention(options: MultiheadAttentionOptions): Promise<AsyncMultiheadAttention> {
    return this.#layer("multiheadAttention", options);
  }

  async transformerEncoderLayer(options: TransformerLayerOptions): Promise<AsyncTransformerEncoderLayer> {
    return this.#layer("transformerEncoderLayer", options);
  }

  async transformerDecoderLayer(options: TransformerLayerOptions): Promise<AsyncTransformerDecoderLayer> {
    return this.#layer("transformerDecoderLayer", options);
  }

  async embedding(options?: Maybe<EmbeddingOptions>): Promise<AsyncEmbedding> {
    return this.#layer("embedding", options);
  }

  async #layer(maker: string, options: unknown): Promise<RemoteLayer> {
    return new RemoteLayer(maker, this.connection, await this.reference(maker, options), this);
  }

  async loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<AsyncModel> {
    const followed = checkFollowed<LoadModelOptions>("loadModel", options);
    const answer = await this.follow("loadModel", followed, () => [this.#transportable(source)]);
    return new RemoteModel("model", this.connection, (answer as { reference: Reference }).reference, this);
  }

  #transportable(source: ModelSource): string | NamedBlob[] {
    const checked = checkSource(source);
    if (typeof checked === "string" || checked instanceof URL) return transportable("source", checked, this.platform);
    return checked.map((file) => ({ name: file.name, blob: file.slice() }));
  }
}

class RemoteLayer extends RemoteObject
  implements AsyncMultiheadAttention, AsyncTransformerEncoderLayer, AsyncTransformerDecoderLayer, AsyncEmbedding {
  declare readonly parameterCount: number;

  loadStateDict(state: StateDict): Promise<void> {
    return this.value("loadStateDict", state);
  }

  forward(...args: readonly unknown[]): Promise<Results> {
    return this.value("forward", ...args);
  }

  async startCache(options?: Maybe<CacheOptions>): Promise<RemoteCache> {
    return new RemoteCache("cache", this.connection, await this.reference("startCache", options), this);
  }
}

class RemoteCache extends RemoteObject
  implements AsyncCachedAttention, AsyncLayerCache<unknown, true>, AsyncDecoderLayerCache {
  readonly length: number = 0;

  forward(...args: readonly unknown[]): Promise<Results> {
    return this.value("forward", ...args);
  }

  reset(): Promise<void> {
    return this.value("reset");
  }
}

class RemoteModel extends RemoteObject implements AsyncModel {
  declare readonly info: ModelInfo;

  async attend(input: ModelInput, options?: Maybe<AttendOptions>): Promise<AsyncModelAttention> {
    return new RemoteModelAttention("attention", this.connection, await this.reference("attend", input, options), this);
  }

  async startDecoding(options?: Maybe<DecodingOptions>): Promise<AsyncDecoding> {
    return new RemoteDecoding("decoding", this.connection, await this.reference("startDecoding", options), this);
  }

  layerWeights(layer: number): Promise<LayerWeights> {
    return this.value("layerWeights", layer);
  }

  embedding(): Promise<Tensor | undefined> {
    return this.value("embedding");
  }

  unembedding(): Promise<Tensor | undefined> {
    return this.value("unembedding");
  }

  async rankHeads<M extends MetricName | ModelMetricName>(
    inputs: readonly ModelInput[], options?: Maybe<RankOptions<M>>,
  ): Promise<RankedHead<M>[]> {
    const followed = checkFollowed<RankOptions>("rankHeads", options);
    return (await this.follow("rankHeads", followed, () => [inputs]) as ValueAnswer).value as RankedHead<M>[];
  }
}

class RemoteModelAttention extends RemoteObject implements AsyncModelAttention {
  declare readonly tokens: readonly string[];
  declare readonly ids: readonly number[];
  declare readonly tokenCount: number;
  declare readonly patches?: readonly [number, number];

  map(layer: number, head: number, options?: Maybe<MapOptions>): Promise<Tensor> {
    return this.value("map", layer, head, options);
  }

  pixels(layer: number, head: number, options?: Maybe<PixelsOptions>): Promise<Image> {
    return this.value("pixels", layer, head, options);
  }

  allPixels(options?: Maybe<PixelsOptions>): Promise<Image[][]> {
    return this.value("allPixels", options);
  }

  logits(options?: Maybe<LogitsOptions>): Promise<Tensor> {
    return this.value("logits", options);
  }

  hidden(layer: number): Promise<Tensor> {
    return this.value("hidden", layer);
  }

  queries(layer: number): Promise<Tensor> {
    return this.value("queries", layer);
  }

  keys(layer: number): Promise<Tensor> {
    return this.value("keys", layer);
  }

  values(layer: number): Promise<Tensor> {
    return this.value("values", layer);
  }
}

class RemoteDecoding extends RemoteObject implements AsyncDecoding {
  step(input: string | readonly number[]): Promise<DecodingStep> {
    return this.value("step", input);
  }

  map(layer: number, head: number): Promise<Tensor> {
    return this.value("map", layer, head);
  }

  reset(): Promise<void> {
    return this.value("reset");
  }
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
  if (early !== undefined) connection.tell((remote) => remote.prefetch(early));
  try {
    const answer = await connection.ask(async (remote) => remote.load(await code));
    return new RemoteEngine(connection, (answer as { reference: Reference }).reference, platform);
  } catch (error) {
    connection.end(error as HeadlensError);
    throw error;
  }
}
