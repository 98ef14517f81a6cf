// SPDX-License-Identifier: Apache-2.0
/** Fetches the files of a model from another server, and keeps them until the server has others. */
import type { Following } from "../arguments/options.js";
import { folderAt } from "./hugging-face.js";
import { openKept } from "./kept.js";
import { kFiles } from "./names.js";

/** The bytes that are left to others at least. */
const kSpare = 100e6;

/** This header tells which version of a file is kept. */
const kVersion = "headlens-version";

/** A file as its server begins to send it. */
interface Sent {
  readonly url: URL;
  readonly response: Response;
  readonly length: number;
  /** It changes with the file. Some servers tell pages of others the length alone. */
  readonly version: string;
}

/** Passes a file on as it comes, and tells how many bytes came. */
const counting = (count: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> => new TransformStream({
  transform(piece, controller) {
    count(piece.length);
    controller.enqueue(piece);
  },
});

/** Brings what is kept of one folder to the state of its server. */
class Keeping {
  #loaded = 0;
  #total = 0;

  constructor(private readonly kept: Cache, private readonly folder: URL, private readonly options: Following) {}

  async run(): Promise<void> {
    const [config, tokenizer, weights] = await Promise.all(
      [kFiles.config, kFiles.tokenizer, kFiles.weights].map((name) => this.#ask(name)));
    const reader = tokenizer ?? await this.#ask(kFiles.processor); // of texts, or of pictures
    const all = [config, reader, ...(weights ? [weights] : await this.#shards())];
    const wanted = await Promise.all(all.map((file) => this.#unlessKept(file)));
    const missing = wanted.filter((file) => file !== undefined);
    this.#total = missing.reduce((sum, { length }) => sum + length, 0);
    const { quota = 0, usage = 0 } = await navigator.storage.estimate();
    if (this.#total > quota - usage - kSpare) for (const { response } of missing) void response.body?.cancel();
    else await Promise.all(missing.map((file) => this.#keep(file)));
  }

  /** Asks for a file; undefined where there is none, which is then not kept either. */
  async #ask(name: string): Promise<Sent | undefined> {
    const url = new URL(encodeURIComponent(name), this.folder);
    const { signal } = this.options;
    const response = await fetch(url, { ...(signal && { signal }) });
    if (!response.ok) {
      await this.kept.delete(url);
      return undefined;
    }
    const length = Number(response.headers.get("content-length") ?? 0);
    return { url, response, length, version: `${response.headers.get("etag") ?? ""} ${length}` };
  }

  /** Asks for the files that an index names, and once more for the index, which is kept as well. The engine refuses what is no index. */
  async #shards(): Promise<(Sent | undefined)[]> {
    const index = await this.#ask(kFiles.index);
    if (!index) return [];
    const { weight_map: files = {} } = await index.response.json() as { weight_map?: Record<string, string> };
    return Promise.all([kFiles.index, ...new Set(Object.values(files))].map((name) => this.#ask(name)));
  }

  /** Returns a file that is not kept as the server has it. An older one is kept no longer. */
  async #unlessKept(file: Sent | undefined): Promise<Sent | undefined> {
    if (!file) return undefined;
    const kept = await this.kept.match(file.url);
    if (kept?.headers.get(kVersion) === file.version) await file.response.body?.cancel();
    else {
      await this.kept.delete(file.url);
      return file;
    }
    return undefined;
  }

  async #keep({ url, response, length, version }: Sent): Promise<void> {
    const count = (bytes: number): void => {
      this.#loaded += bytes;
      this.options.onProgress?.(this.#loaded, Math.max(this.#loaded, this.#total));
    };
    const body = response.body?.pipeThrough(counting(count)) ?? null;
    const headers = { [kVersion]: version, ...(length > 0 && { "content-length": String(length) }) };
    await this.kept.put(url, new Response(body, { headers }));
  }
}

/**
 * Keeps the files of the model at an address on another server. What cannot be kept, for whatever reason, is left to the
 * engine, which then fetches it, or says what is wrong.
 */
export async function keepFiles(address: string, options: Following): Promise<void> {
  try {
    const { url } = folderAt(new URL(`${address}/`));
    if (!url.protocol.startsWith("http") || url.origin === globalThis.location.origin) return;
    const kept = await openKept();
    if (kept) await new Keeping(kept, url, options).run();
  } catch {
    // The engine asks for the same files, and reports what fails.
  }
}
