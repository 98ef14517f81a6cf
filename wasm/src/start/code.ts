// SPDX-License-Identifier: Apache-2.0
/** The engine's compiled code is one of several builds. A page compiles it and hands it to its workers, who share it. */
import type { Read } from "../arguments/names.js";
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

/** These builds lie beside this script. Bundlers look for `new URL` with these very words. */
const kOwnUrls = {
  baseline: () => new URL("./headlens-simd.wasm", import.meta.url),
  relaxed: () => new URL("./headlens-relaxed.wasm", import.meta.url),
  "baseline-threads": () => new URL("./headlens-simd-threads.wasm", import.meta.url),
  "relaxed-threads": () => new URL("./headlens-relaxed-threads.wasm", import.meta.url),
} as const;

function wasmUrlOf(build: Build, shared: boolean, wasmUrl: string | URL | undefined, platform: Platform): URL {
  if (wasmUrl === undefined) return kOwnUrls[shared ? `${build}-threads` as const : build]();
  if (isFile(wasmUrl)) return absoluteUrl("wasmUrl", wasmUrl, platform);
  const name = `headlens-${build === "relaxed" ? "relaxed" : "simd"}${shared ? "-threads" : ""}.wasm`;
  return new URL(name, folderUrl("wasmUrl", wasmUrl, platform));
}

/** Bundlers hand out the URLs of single files, with a hash in their names. */
function isFile(wasmUrl: string | URL): boolean {
  return /\.wasm([?#]|$)/.test(String(wasmUrl));
}

/** A wasmUrl that names one file settles which build it is. */
function wantedBuild({ simd = "auto", wasmUrl }: Read<LoadOptions>): "auto" | Build {
  if (simd !== "auto" || wasmUrl === undefined || !isFile(wasmUrl)) return simd;
  return String(wasmUrl).includes("headlens-relaxed") ? "relaxed" : "baseline";
}

/** An isolated page has as many threads as cores, up to four. A script of Node's has to ask for more than one. */
function defaultThreads(): number {
  return globalThis.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, 4) : 1;
}

/** There is one thread where memory cannot be shared, and where a wasmUrl names a build without threads. */
function usableThreads({ threads = defaultThreads(), wasmUrl }: Read<LoadOptions>): number {
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

export async function loadCode(options: Read<LoadOptions>, platform: Platform): Promise<Code> {
  const build = chooseBuild(detectFeatures(), wantedBuild(options));
  const threads = usableThreads(options);
  const url = wasmUrlOf(build, threads > 1, options.wasmUrl, platform);
  return { build, threads, url: url.href, module: await compileOnce(url, platform) };
}
