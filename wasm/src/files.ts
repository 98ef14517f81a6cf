// SPDX-License-Identifier: Apache-2.0
/** The three files of a Hugging Face folder, from wherever they are, with progress, limits and a way to stop. */
import { HeadlensError } from "./errors.js";
import { messageOf, show } from "./failures.js";
import { checkSource, isBuiltIn } from "./names.js";
import { folderUrl, type Platform } from "./platform.js";
import type { LoadModelOptions, ModelSource } from "./types.js";

/** Each file as the pieces it came in. */
export interface ModelFiles {
  readonly name: string;
  readonly config: readonly Uint8Array[];
  readonly tokenizer: readonly Uint8Array[];
  readonly weights: readonly Uint8Array[];
}

/** No file may take more memory than this, whatever its server says. */
const kMaxBytes = { "config.json": 64 << 20, "tokenizer.json": 64 << 20, "model.safetensors": 2 ** 31 } as const;
type FileName = keyof typeof kMaxBytes;
const kFileNames = Object.keys(kMaxBytes) as FileName[];

type Opener = (name: FileName, signal: AbortSignal) => Promise<Response>;

/** The models in the package. `new URL` with these very words is what bundlers look for. */
function builtIn(source: ModelSource, platform: Platform): Opener | undefined {
  if (!isBuiltIn(source)) return undefined;
  const urls: Record<FileName, URL> = {
    "config.json": new URL("./models/tiny/config.json", import.meta.url),
    "tokenizer.json": new URL("./models/tiny/tokenizer.json", import.meta.url),
    "model.safetensors": new URL("./models/tiny/model.safetensors", import.meta.url),
  };
  return (name, signal) => platform.fetch(urls[name], signal);
}

function fromFiles(files: readonly File[]): Opener {
  const named = new Map(files.map((file) => [file.name, file]));
  const missing = kFileNames.filter((name) => !named.has(name));
  if (missing.length > 0) {
    throw new HeadlensError("value", `source: ${missing.join(", ")} missing among ${show([...named.keys()])}, expected ${kFileNames.join(", ")}`);
  }
  return (name) => {
    const file = named.get(name);
    const headers = { "content-length": String(file?.size) };
    return Promise.resolve(new Response(file?.stream(), { headers }));
  };
}

interface Place {
  readonly name: string;
  /** What stands before the file's name in messages. */
  readonly where: string;
  readonly open: Opener;
}

function placeOf(source: ModelSource, platform: Platform): Place {
  checkSource(source);
  const open = builtIn(source, platform);
  if (open) return { name: "tiny", where: "the built-in model's ", open };
  if (typeof source !== "string" && !(source instanceof URL)) return { name: "model", where: "", open: fromFiles(source) };
  const folder = folderUrl("source", source, platform);
  const name = folder.pathname.split("/").at(-2) ?? folder.host;
  return { name, where: folder.href, open: (file, signal) => platform.fetch(new URL(file, folder), signal) };
}

interface Count {
  loaded: number;
  /** Undefined while the size is not known. */
  total: number | undefined;
}

/** All of a response's bytes, never more than `max`. */
async function readBody(
  response: Response, max: number, count: Count, signal: AbortSignal, onCount: () => void,
): Promise<Uint8Array[]> {
  const tooLarge = (bytes: number): Error => new Error(`${bytes} bytes, expected at most ${max}`);
  const declared = Number(response.headers.get("content-length") ?? NaN);
  // With a content encoding the declared length counts compressed bytes.
  if (Number.isFinite(declared) && !response.headers.get("content-encoding")) count.total = declared;
  const chunks: Uint8Array[] = [];
  const reader = response.body?.getReader();
  if (declared > max) {
    await reader?.cancel();
    throw tooLarge(declared);
  }
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    chunks.push(read.value);
    count.loaded += read.value.length;
    if (count.loaded > max) {
      await reader?.cancel();
      throw tooLarge(count.loaded);
    }
    onCount();
    signal.throwIfAborted();
  }
  return chunks;
}

/** Reads config.json, tokenizer.json and model.safetensors at once; the first failure stops the others. */
export async function readFiles(
  source: ModelSource, platform: Platform, options: LoadModelOptions,
): Promise<ModelFiles> {
  const { signal, onProgress } = options;
  const { name, where, open } = placeOf(source, platform);
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort);

  const counts: Count[] = [];
  const report = (): void => {
    const loaded = counts.reduce((sum, count) => sum + count.loaded, 0);
    const total = counts.reduce((sum, count) => sum + (count.total ?? NaN), 0);
    onProgress?.(loaded, total || 0);
  };
  const read = async (file: FileName): Promise<Uint8Array[]> => {
    const count: Count = { loaded: 0, total: undefined };
    counts.push(count);
    try {
      const response = await open(file, abort.signal);
      if (!response.ok) throw new Error(`HTTP status ${response.status} ${response.statusText}`.trim());
      return await readBody(response, kMaxBytes[file], count, abort.signal, report);
    } catch (error) {
      if (signal?.aborted) throw new HeadlensError("aborted", "loadModel was aborted by its signal", { cause: error });
      throw new HeadlensError("model-load", `${where}${file}: ${messageOf(error)}`, { cause: error });
    }
  };
  try {
    const [config = [], tokenizer = [], weights = []] = await Promise.all(kFileNames.map(read));
    return { name, config, tokenizer, weights };
  } catch (error) {
    abort.abort();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
