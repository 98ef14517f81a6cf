// SPDX-License-Identifier: Apache-2.0
import { checkLoad, type Read } from "./arguments/options.js";
import { fileBytesOf } from "./arguments/tensors.js";
import { reading, show, within, wrong } from "./module/failures.js";
import type { Platform } from "./platform/platform.js";
import { loadCode } from "./start/code.js";
import { createRemoteEngine } from "./worker/remote.js";
import type { AsyncEngine, Engine, Load, LoadOptions, Maybe } from "./types/index.js";

function checkLoadOptions(options: unknown): Read<LoadOptions> {
  const checked = checkLoad(options);
  const { simd = "auto", threads = 1, worker = false, wasm, wasmUrl = "", prefetch = "" } = checked;
  if (!["auto", "baseline", "relaxed"].includes(simd)) {
    throw within("load", wrong("option", "simd", show(simd), '"auto", "baseline" or "relaxed"'));
  }
  if (!Number.isInteger(threads) || threads < 1 || threads > 64) {
    throw within("load", wrong("option", "threads", show(threads), "a whole number from 1 to 64"));
  }
  if (typeof worker !== "boolean") throw within("load", wrong("option", "worker", show(worker), "a boolean"));
  if (wasm !== undefined && !reading("wasm", () => fileBytesOf(wasm))) {
    throw within("load", wrong("option", "wasm", show(wasm), "an ArrayBuffer or a Uint8Array"));
  }
  if (typeof wasmUrl !== "string" && !(wasmUrl instanceof URL)) {
    throw within("load", wrong("option", "wasmUrl", show(wasmUrl), "a string or a URL"));
  }
  if (typeof prefetch !== "string" && !(prefetch instanceof URL)) {
    throw within("load", wrong("option", "prefetch", show(prefetch), "a built-in model's name or a URL"));
  }
  return checked;
}

/** The engine's own scripts are imported when they are needed: a page that runs it in a worker does not load them twice. A worker starts at once. */
export function makeLoad(platform: Platform): Load {
  async function load(options?: Maybe<LoadOptions>): Promise<Engine | AsyncEngine> {
    const checked = checkLoadOptions(options);
    const code = loadCode(checked, platform);
    code.catch(() => undefined); // its failure is reported where the code is used
    if (!checked.worker) return (await import("./start/own-engine.js")).createOwnEngine(code, platform, checked.prefetch);
    return createRemoteEngine(code, platform, checked.prefetch);
  }
  return load as Load;
}
