// SPDX-License-Identifier: Apache-2.0
/** From load options to a running wasm module. */
import createModule from "headlens-glue";
import { WasmEngine } from "./engine.js";
import { HeadlensError } from "./errors.js";
import { asHeadlensError, messageOf } from "./failures.js";
import { chooseBuild, detectFeatures, type Build } from "./features.js";
import type { HeadlensModule } from "./module.js";
import { absoluteUrl, folderUrl, type Platform } from "./platform.js";
import type { Engine, EngineInfo, LoadOptions } from "./types.js";

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

/** Emscripten's own promise never settles when the instance cannot be made, so that failure has its own way out. */
function instantiate(code: WebAssembly.Module, url: URL): Promise<HeadlensModule> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(asHeadlensError(error, "wasm-load", url.href));
    createModule({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(code, imports).then((instance) => done(instance, code)).catch(fail);
        return {};
      },
    }).then(resolve, fail);
  });
}

/** An engine in this thread, with a wasm memory of its own. */
export async function createEngine(options: LoadOptions, platform: Platform): Promise<Engine> {
  const build = chooseBuild(detectFeatures(), wantedBuild(options));
  const url = wasmUrlOf(build, options.wasmUrl, platform);
  const module = await instantiate(await compileOnce(url, platform), url);
  const info: EngineInfo = { version: module.version(), simd: build, threads: 1, target: module.simdTarget() };
  return new WasmEngine(module, info, platform);
}
