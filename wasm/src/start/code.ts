// SPDX-License-Identifier: Apache-2.0
/** The engine's compiled code is one of several builds. A page compiles it and hands it to its workers, who share it. */
import type { Read } from "../arguments/options.js";
import { type Bytes, fileBytesOf } from "../arguments/tensors.js";
import { messageOf, wrong } from "../module/failures.js";
import { absoluteUrl, folderUrl, type Platform } from "../platform/platform.js";
import { HeadlensError } from "../types/errors.js";
import type { LoadOptions } from "../types/index.js";
import { canShareMemory, chooseBuild, detectFeatures, type Build } from "./features.js";

export interface Code {
  readonly build: Build;
  /** The number of threads of the engine. With more than one its memory is shared. */
  readonly threads: number;
  /** Messages name the code by its address. */
  readonly url: string;
  readonly module: WebAssembly.Module;
}

/** Compiled code is kept by its URL. A failure is not kept, so that the next load tries again. */
const compiled = new Map<string, Promise<WebAssembly.Module>>();

function wasmUrlOf(build: Build, shared: boolean, wasmUrl: string | URL | undefined, platform: Platform): URL {
  const name = `headlens-${build === "relaxed" ? "relaxed" : "simd"}${shared ? "-threads" : ""}.wasm` as const;
  if (wasmUrl === undefined) return platform.ownFile(name);
  if (isFile(wasmUrl)) return absoluteUrl("wasmUrl", wasmUrl, platform);
  return new URL(name, folderUrl("wasmUrl", wasmUrl, platform));
}

/** Bundlers hand out the URLs of single files, with a hash in their names, or the files as URLs. */
function isFile(wasmUrl: string | URL): boolean {
  return /^(data|blob):|\.wasm([?#]|$)/i.test(String(wasmUrl));
}

/** A wasmUrl that names one file settles which build it is. Code that is given or carried is the baseline, unless the caller says otherwise. */
function wantedBuild({ simd = "auto", wasm, wasmUrl }: Read<LoadOptions>, { carried }: Platform): "auto" | Build {
  if (simd === "auto" && (wasm || (carried && wasmUrl === undefined))) return "baseline";
  if (simd !== "auto" || wasmUrl === undefined || !isFile(wasmUrl)) return simd;
  return String(wasmUrl).includes("headlens-relaxed") ? "relaxed" : "baseline";
}

/** An isolated page has as many threads as cores, up to four. A script of Node's has to ask for more than one. */
function defaultThreads(): number {
  return globalThis.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, 4) : 1;
}

/** There is one thread where memory cannot be shared, and where the code is a build without threads. */
function usableThreads(options: Read<LoadOptions>, { carried }: Platform): number {
  const { threads = defaultThreads(), wasm, wasmUrl } = options;
  if (wasm || (carried && wasmUrl === undefined)) return 1;
  const named = wasmUrl !== undefined && isFile(wasmUrl) ? String(wasmUrl).includes("-threads") : undefined;
  if (named) {
    if (canShareMemory()) return threads;
    throw wrong("unsupported", "wasmUrl", "a build with threads", "one without: only cross-origin isolated pages run them", "names");
  }
  return named === undefined && threads > 1 && canShareMemory() ? threads : 1;
}

async function compile(url: URL, platform: Platform): Promise<WebAssembly.Module> {
  let type = "";
  try {
    const response = await platform.fetch(url);
    if (!response.ok) throw new Error(`HTTP status ${response.status} ${response.statusText}`.trim());
    type = response.headers.get("content-type") ?? "";
    // Streaming compilation insists on this type; servers that do not know .wasm send another.
    if (type.startsWith("application/wasm")) return await WebAssembly.compileStreaming(response);
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    const hint = type.startsWith("text/html") ? " (the server answered with an HTML page: is the .wasm file served? see the option wasmUrl)" : "";
    throw new HeadlensError("wasm-load", `${url.href}: ${messageOf(error)}${hint}`, { cause: error });
  }
}

function compileOnce(url: URL, platform: Platform): Promise<WebAssembly.Module> {
  let module = compiled.get(url.href);
  if (!module) {
    module = compile(url, platform);
    compiled.set(url.href, module);
    module.catch(() => compiled.delete(url.href));
  }
  return module;
}

async function compileGiven(bytes: Bytes): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (error) {
    throw new HeadlensError("wasm-load", `wasm: ${messageOf(error)}`, { cause: error, argument: "wasm" });
  }
}

export async function loadCode(options: Read<LoadOptions>, platform: Platform): Promise<Code> {
  const build = chooseBuild(detectFeatures(), wantedBuild(options, platform));
  const threads = usableThreads(options, platform);
  const given = fileBytesOf(options.wasm);
  if (given) return { build, threads, url: "wasm", module: await compileGiven(given) };
  const url = wasmUrlOf(build, threads > 1, options.wasmUrl, platform);
  return { build, threads, url: url.href, module: await compileOnce(url, platform) };
}
