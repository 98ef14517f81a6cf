// SPDX-License-Identifier: Apache-2.0
/** The files of a Hugging Face folder are read from wherever they are, with progress, limits and a way to stop. */
import { checkSource, type Following, isBuiltIn, type Read } from "../arguments/options.js";
import { type Bytes, bytesOf } from "../arguments/tensors.js";
import { asHeadlensError, show, wrong } from "../module/failures.js";
import { builtInFile } from "../platform/own-files.js";
import { folderUrl, type Platform } from "../platform/platform.js";
import { HeadlensError } from "../types/errors.js";
import type { LoadModelOptions, ModelSource } from "../types/index.js";
import { folderAt } from "./hugging-face.js";
import { keeping } from "./kept.js";
import { kFiles } from "./names.js";

/** No file may take more memory than this, whatever its server says. All weights together may take no more than kMaxWeights. */
const kMaxText = 64 << 20;
export const kMaxWeights = 2 ** 31;

/** A server does not say what it has in the place of a file, but this is likely. */
const kOtherFormats: Readonly<Record<string, string>> = {
  [kFiles.weights]: "a folder with pytorch_model.bin",
  [kFiles.tokenizer]: "a folder with vocab.txt, vocab.json or spiece.model",
};

/** Gives a file's bytes and status as a fetch does. The status is 404 where there is no such file. */
type Opener = (name: string, signal: AbortSignal) => Promise<Response>;

/** Returns the addresses of a source's files, undefined for a file that a built-in model does not have. Messages call the source `option`. */
function urlsOf(option: string, source: string | URL, platform: Platform): (name: string) => URL | undefined {
  if (isBuiltIn(source)) {
    return (name) => {
      const file = builtInFile(source, name);
      return file && platform.ownFile(file);
    };
  }
  const folder = folderAt(folderUrl(option, source, platform)).url;
  return (name) => new URL(encodeURIComponent(name), folder); // a shard may be called as it likes
}

function fromUrls(source: string | URL, platform: Platform): Opener {
  const urlOf = urlsOf("source", source, platform);
  return (name, signal) => {
    const url = urlOf(name);
    return url ? platform.fetch(url, signal) : Promise.resolve(new Response(null, { status: 404 }));
  };
}

/** Returns a platform that has asked for a model's files already. The first fetch of each of them gets that answer. */
export function prefetching(source: string | URL, platform: Platform): Platform {
  const names = [kFiles.config, kFiles.tokenizer, kFiles.weights];
  const urls = names.map(urlsOf("prefetch", source, platform)).filter((url) => url !== undefined);
  const asked = new Map(urls.map((url) => {
    const abort = new AbortController();
    const answer = platform.fetch(url, abort.signal);
    answer.catch(() => undefined); // a failure is reported when the answer is taken
    return [url.href, { abort, answer }];
  }));
  return {
    ...platform,
    fetch(url, signal) {
      const early = asked.get(url.href);
      if (!early) return platform.fetch(url, signal);
      asked.delete(url.href);
      signal?.addEventListener("abort", () => early.abort.abort(signal.reason));
      return early.answer;
    },
  };
}

/** Shards that come without their index get one. */
function indexOf(names: readonly string[]): Blob {
  return new Blob([JSON.stringify({ weight_map: Object.fromEntries(names.map((name) => [name, name])) })]);
}

interface Place {
  readonly name: string;
  /** It stands before a file's name in messages. */
  readonly where: string;
  /** The folder's address, where it has one that everybody knows. */
  readonly url?: string;
  /** The names of all files, sorted; none where they are not known. */
  readonly names: readonly string[];
  readonly open: Opener;
}

/** The engine's rules about the files of a folder, which the core has. */
export interface FolderRules {
  /** Returns the files that an index names. Each lies beside it, never elsewhere. */
  shardNames(index: string): readonly string[];
  /** Throws where one of the files `names` is in the place of `missing`, in a format that is not read. */
  refuseOtherFormats(missing: string, names: readonly string[]): void;
}

function fromFiles(files: readonly File[], rules: FolderRules): Place {
  const names = files.map((file) => file.name).sort();
  const named = new Map<string, Blob>(files.map((file) => [file.name, file]));
  const shards = [...named.keys()].filter((name) => name.endsWith(".safetensors") && name !== "adapter_model.safetensors");
  const hasWeights = named.has(kFiles.weights) || named.has(kFiles.index);
  if (!hasWeights && shards.length > 0) named.set(kFiles.index, indexOf(shards));
  // A model of texts needs all of these. A model of pictures reads no tokenizer, as config.json will say.
  const missing = [kFiles.config, kFiles.tokenizer, kFiles.weights].filter((name) => {
    if (name === kFiles.tokenizer) return !named.has(name) && !named.has(kFiles.processor) && !named.has(kFiles.config);
    return !named.has(name) && !(name === kFiles.weights && named.has(kFiles.index));
  });
  for (const name of missing) rules.refuseOtherFormats(name, names);
  if (missing.length > 0) {
    throw wrong("value", "source", show([...named.keys()]), `${missing.join(", ")} as well`, "holds");
  }
  const open: Opener = (name) => {
    const file = named.get(name);
    if (!file) return Promise.resolve(new Response(null, { status: 404, statusText: "no such file was given" }));
    return Promise.resolve(new Response(file.stream() as BodyInit, { headers: { "content-length": String(file.size) } }));
  };
  return { name: "model", where: "", names, open };
}

function placeOf(source: ModelSource, platform: Platform, rules: FolderRules, isKept = false): Place {
  const checked = checkSource(source);
  if (typeof checked !== "string" && !(checked instanceof URL)) return fromFiles(checked, rules);
  const open = fromUrls(checked, isKept ? keeping(platform) : platform);
  if (isBuiltIn(checked)) return { name: checked, where: `the built-in model ${checked}: `, names: [], open };
  const { name, url } = folderAt(folderUrl("source", checked, platform));
  return { name, where: url.href, url: url.href, names: [], open };
}

/** Takes a file's bytes as they come. */
export type Sink = (piece: Bytes) => void;

/** Says where the weights go. It is called once for each file, with the file's length when that is known. */
export type OpenSink = (byteLength: number | undefined) => Sink;

/** This file has been asked for and not yet read. */
interface Opened {
  readonly name: string;
  readonly response: Response;
  /** The file's length, undefined when it is not known. */
  readonly length: number | undefined;
}

/** Reads one folder's files. Every read counts towards the progress, and the first failure stops the others. */
export class ModelFolder {
  readonly name: string;
  readonly url: string | undefined;
  readonly #place: Place;
  readonly #rules: FolderRules;
  readonly #options: Following;
  readonly #abort = new AbortController();
  readonly #onAbort = (): void => this.#abort.abort(this.#options.signal?.reason);
  #thrown: { readonly error: unknown } | undefined; // the caller's onProgress threw it
  #loaded = 0;
  #total: number | undefined = 0;
  #allOpened = false;

  constructor(
    source: ModelSource, platform: Platform, rules: FolderRules, options: Read<LoadModelOptions> & Following,
  ) {
    this.#rules = rules;
    this.#options = options;
    this.#place = placeOf(source, platform, rules, options.keep);
    this.name = this.#place.name;
    this.url = this.#place.url;
    if (options.signal?.aborted) this.#onAbort();
    options.signal?.addEventListener("abort", this.#onAbort);
  }

  /** Ends all that is still under way, unless everything is read: then only the rest of what is kept is still written. */
  close(isRead: boolean): void {
    if (!isRead) this.#abort.abort();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Asks for the files that every folder may have. Reading starts with `config`. */
  async open(): Promise<OpenFolder> {
    const [config, tokenizer, weights] = await Promise.all([
      this.#open(kFiles.config, kMaxText),
      this.#openOptional(kFiles.tokenizer, kMaxText),
      this.#openOptional(kFiles.weights, kMaxWeights),
    ]);
    return { config, tokenizer, weights };
  }

  /** Opens preprocessor_config.json, when the folder has one. */
  openProcessor(): Promise<Opened | undefined> {
    return this.#openOptional(kFiles.processor, kMaxText);
  }

  /** Reads the weights straight into their sinks: one file, or the shards that the index names, side by side. */
  async readWeights(single: Opened | undefined, openSink: OpenSink): Promise<void> {
    const files = single ? [single] : await this.#openShards();
    this.#allOpened = true;
    await Promise.all(files.map((file) => this.#read(file, kMaxWeights, openSink(file.length))));
  }

  async readText(file: Opened): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    await this.#read(file, kMaxText, (piece) => { text += decoder.decode(piece, { stream: true }); });
    return text + decoder.decode();
  }

  /** Leaves a file unread. It is not counted either. */
  async skip(file: Opened | undefined): Promise<void> {
    if (!file) return;
    this.#count(-(file.length ?? NaN));
    await file.response.body?.cancel();
  }

  async require(file: Opened | undefined, name: string): Promise<Opened> {
    return file ?? this.#open(name, kMaxText);
  }

  async #openShards(): Promise<Opened[]> {
    // Without an index, the file that is missed is the one that most folders have.
    const index = await this.#openOptional(kFiles.index, kMaxText) ?? await this.#open(kFiles.weights, kMaxWeights);
    if (index.name === kFiles.weights) return [index];
    const names = this.#rules.shardNames(await this.readText(index));
    return Promise.all(names.map((name) => this.#open(name, kMaxWeights)));
  }

  async #open(name: string, max: number): Promise<Opened> {
    return this.#failing(name, async () => {
      const response = await this.#place.open(name, this.#abort.signal);
      if (response.status === 404) this.#rules.refuseOtherFormats(name, this.#place.names);
      return this.#opened(name, response, max);
    });
  }

  async #openOptional(name: string, max: number): Promise<Opened | undefined> {
    return this.#failing(name, async () => {
      const response = await this.#place.open(name, this.#abort.signal);
      if (response.status !== 404) return this.#opened(name, response, max);
      void response.body?.cancel();
      return undefined;
    });
  }

  #opened(name: string, response: Response, max: number): Opened {
    if (!response.ok) {
      const other = response.status === 404 && kOtherFormats[name];
      const expected = other ? `the file, which native/convert.py of headlens makes of ${other}` : "the file";
      throw this.#wrong(name, `HTTP status ${response.status} ${response.statusText}`.trim(), expected, "gives");
    }
    const declared = Number(response.headers.get("content-length") ?? NaN);
    // With a content encoding the declared length counts compressed bytes.
    const length = Number.isFinite(declared) && !response.headers.get("content-encoding") ? declared : undefined;
    if (declared > max) {
      void response.body?.cancel();
      throw this.#wrong(name, `${declared} bytes`, `at most ${max}`, "has");
    }
    this.#count(length ?? NaN);
    return { name, response, length };
  }

  #count(bytes: number): void {
    this.#total = this.#total === undefined || Number.isNaN(bytes) ? undefined : this.#total + bytes;
  }

  /** Feeds a file's bytes to `sink`, never more than `max`. */
  #read(file: Opened, max: number, sink: Sink): Promise<void> {
    return this.#failing(file.name, async () => {
      const reader = file.response.body?.getReader();
      let count = 0;
      for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
        const piece = bytesOf(read.value); // a stream of the caller's own may give anything
        if (!piece) throw this.#wrong(file.name, show(read.value), "a Uint8Array", "gives");
        count += piece.length;
        if (count > max) {
          await reader?.cancel();
          throw this.#wrong(file.name, `${count} bytes`, `at most ${max}`, "has");
        }
        sink(piece);
        this.#loaded += piece.length;
        this.#report();
        this.#abort.signal.throwIfAborted();
      }
    });
  }

  #wrong(name: string, got: string, expected: string, verb: string): HeadlensError {
    return wrong("model-load", `${this.#place.where}${name}`, got, expected, verb);
  }

  #report(): void {
    if (this.#thrown) throw this.#thrown.error;
    try {
      this.#options.onProgress?.(this.#loaded, this.#allOpened ? this.#total ?? 0 : 0);
    } catch (error) {
      this.#thrown = { error };
      throw error;
    }
  }

  /** Names the file in whatever goes wrong with it, and stops the others. What the caller's onProgress throws passes as it is. */
  async #failing<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#abort.abort();
      if (this.#thrown) throw this.#thrown.error;
      if (this.#options.signal?.aborted) throw new HeadlensError("aborted", "loadModel was aborted by its signal", { cause: error });
      throw asHeadlensError(error, "model-load", `${this.#place.where}${name}`);
    }
  }
}

export interface OpenFolder {
  readonly config: Opened;
  readonly tokenizer: Opened | undefined;
  readonly weights: Opened | undefined;
}
