// SPDX-License-Identifier: Apache-2.0
/** The engine's compiled code: which build, from where. A page compiles it and hands it to its workers, who share it. */
import { HeadlensError } from "./errors.js";
import { messageOf } from "./failures.js";
import { chooseBuild, detectFeatures, type Build } from "./features.js";
import { absoluteUrl, folderUrl, type Platform } from "./platform.js";
import type { LoadOptions } from "./types.js";

export interface Code {
  readonly build: Build;
  /** For messages. */
  readonly url: string;
  readonly module: WebAssembly.Module;
}

/** Compiled code by URL. Only success stays: after a failure the next load tries again. */
const compiled = new Map<string, Promise<WebAssembly.Module>>();

/** The build's URL. `new URL` with these very words is what bundlers look for. */
function wasmUrlOf(build: Build, wasmUrl: string | URL | undefined, platform: Platform): URL {
  if (wasmUrl === undefined) {
    return build === "relaxed" ? new URL("./headlens-relaxed.wasm", import.meta.url) : new URL("./headlens-simd.wasm", import.meta.url);
  }
  if (isFile(wasmUrl)) return absoluteUrl("wasmUrl", wasmUrl, platform);
  return new URL(build === "relaxed" ? "headlens-relaxed.wasm" : "headlens-simd.wasm", folderUrl("wasmUrl", wasmUrl, platform));
}

/** Bundlers hand out the URLs of single files, with a hash in their names. */
function isFile(wasmUrl: string | URL): boolean {
  return /\.wasm([?#]|$)/.test(String(wasmUrl));
}

/** A wasmUrl that names one file settles which build it is. */
function wantedBuild({ simd = "auto", wasmUrl }: LoadOptions): "auto" | Build {
  if (simd !== "auto" || wasmUrl === undefined || !isFile(wasmUrl)) return simd;
  return String(wasmUrl).includes("headlens-relaxed") ? "relaxed" : "baseline";
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

export async function loadCode(options: LoadOptions, platform: Platform): Promise<Code> {
  const build = chooseBuild(detectFeatures(), wantedBuild(options));
  const url = wasmUrlOf(build, options.wasmUrl, platform);
  return { build, url: url.href, module: await compileOnce(url, platform) };
}
