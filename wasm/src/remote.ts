// SPDX-License-Identifier: Apache-2.0
/** The caller's side of an engine in a worker: each object here stands for one that host.ts keeps there. */
import { proxy, type Remote, transfer, wrap } from "comlink";
import type { Code } from "./code.js";
import { HeadlensError } from "./errors.js";
import { asHeadlensError, reading } from "./failures.js";
import type { Answer, Host, NamedBlob, Reference, ValueAnswer } from "./host.js";
import {
  type Caller, checkAborted, checkFollowed, checkSource, type Following, isBuiltIn, kCamelNames, propertiesOf,
} from "./names.js";
import { absoluteUrl, type Platform, type WorkerLink } from "./platform.js";
import { Resource } from "./resource.js";
import { canMove, isPart, isTensorLike, outputs, plain } from "./tensors.js";
import type {
  AsyncCachedAttention, AsyncDecoderLayerCache, AsyncDecoding, AsyncEmbedding, AsyncEngine, AsyncLayerCache,
  AsyncModel, AsyncModelAttention, AsyncMultiheadAttention, AsyncTransformerDecoderLayer,
  AsyncTransformerEncoderLayer, AttendOptions, AttentionResult, CacheOptions, DecodingOptions, DecodingStep,
  EmbeddingOptions, EngineInfo, Image, LayerWeights, LoadModelOptions, LogitsOptions, MapOptions,
  MetricName, ModelInfo, ModelInput, ModelMetricName, ModelSource, MultiheadAttentionOptions, PixelsOptions, RankedHead,
  RankOptions,
  StateDict, Tensor, TransformerLayerOptions,
} from "./types.js";
import { warmUp } from "./warm-up.js";

/** Arguments as they can be sent; arrays of the option `out` move. */
function sendable(args: readonly unknown[]): unknown[] {
  const moved: ArrayBuffer[] = [];
  return transfer(args.map((value) => cloneable(value, moved)), moved);
}

/** Tensors and options anywhere in the arguments as plain objects: structured cloning would drop what they have through a class. */
function cloneable(value: unknown, moved: ArrayBuffer[]): unknown {
  if (isTensorLike(value)) return plain(value);
  if (Array.isArray(value)) return value.map((item) => cloneable(item, moved));
  if (Object.prototype.toString.call(value) !== "[object Object]") return value;
  const properties = propertiesOf(value as object, kCamelNames).map(([key, item]) => {
    const isOut = key === "out" && item !== undefined && !isTensorLike(item); // a parameter could have that name
    return [key, isOut ? moving(item, moved) : cloneable(item, moved)];
  });
  return Object.fromEntries(properties) as object;
}

/** The option `out`, whose buffers are added to `moved`. Memory that is shared anyway stays where it is. */
function moving(out: unknown, moved: ArrayBuffer[]): object {
  const tensors = Array.from(outputs(out), ([name, data]) => {
    if (isPart(data)) {
      throw new HeadlensError("value", `out.${name}: data is part of a larger buffer, which cannot move to the worker`);
    }
    if (canMove(data.buffer)) moved.push(data.buffer);
    return [name, { data, shape: [data.length] }];
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
    super(what, reference.id, owner);
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

  async cachedAttention(options?: CacheOptions): Promise<AsyncCachedAttention> {
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

  async embedding(options?: EmbeddingOptions): Promise<AsyncEmbedding> {
    return this.#layer("embedding", options);
  }

  async #layer(maker: string, options: unknown): Promise<RemoteLayer> {
    return new RemoteLayer(maker, this.connection, await this.reference(maker, options), this);
  }

  async loadModel(source: ModelSource, options?: LoadModelOptions): Promise<AsyncModel> {
    const followed = checkFollowed<LoadModelOptions>("loadModel", options);
    const answer = await this.follow("loadModel", followed, () => [this.#transportable(source)]);
    return new RemoteModel("model", this.connection, (answer as { reference: Reference }).reference, this);
  }

  #transportable(source: ModelSource): string | NamedBlob[] {
    checkSource(source);
    if (typeof source === "string" || source instanceof URL) return transportable("source", source, this.platform);
    return source.map((file) => ({ name: file.name, blob: file.slice() }));
  }
}

class RemoteLayer extends RemoteObject
  implements AsyncMultiheadAttention, AsyncTransformerEncoderLayer, AsyncTransformerDecoderLayer, AsyncEmbedding {
  declare readonly parameterCount: number;

  loadStateDict(state: StateDict): Promise<void> {
    return this.value("loadStateDict", state);
  }

  forward(...args: readonly unknown[]): Promise<AttentionResult> {
    return this.value("forward", ...args);
  }

  async startCache(options?: CacheOptions): Promise<RemoteCache> {
    return new RemoteCache("cache", this.connection, await this.reference("startCache", options), this);
  }
}

class RemoteCache extends RemoteObject
  implements AsyncCachedAttention, AsyncLayerCache<unknown>, AsyncDecoderLayerCache {
  readonly length: number = 0;

  forward(...args: readonly unknown[]): Promise<AttentionResult> {
    return this.value("forward", ...args);
  }

  reset(): Promise<void> {
    return this.value("reset");
  }
}

class RemoteModel extends RemoteObject implements AsyncModel {
  declare readonly info: ModelInfo;

  async attend(input: ModelInput, options?: AttendOptions): Promise<AsyncModelAttention> {
    return new RemoteModelAttention("attention", this.connection, await this.reference("attend", input, options), this);
  }

  async startDecoding(options?: DecodingOptions): Promise<AsyncDecoding> {
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
    inputs: readonly ModelInput[], options?: RankOptions<M>,
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

  map(layer: number, head: number, options?: MapOptions): Promise<Tensor> {
    return this.value("map", layer, head, options);
  }

  pixels(layer: number, head: number, options?: PixelsOptions): Promise<Image> {
    return this.value("pixels", layer, head, options);
  }

  allPixels(options?: PixelsOptions): Promise<Image[][]> {
    return this.value("allPixels", options);
  }

  logits(options?: LogitsOptions): Promise<Tensor> {
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
