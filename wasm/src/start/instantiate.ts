// SPDX-License-Identifier: Apache-2.0
/** Compiled code becomes a running engine here. */
import createModule from "headlens-glue";
import { WasmEngine } from "../engine/engine.js";
import { prefetching } from "../files/model-folder.js";
import { asHeadlensError } from "../module/failures.js";
import type { HeadlensModule } from "../module/module.js";
import type { OpenedThread, Platform } from "../platform/platform.js";
import type { EngineInfo } from "../types/index.js";
import type { Code } from "./code.js";
import { makeMemory } from "./features.js";
import { openThreads, runThreads } from "./threads.js";

/** Emscripten's own promise never settles when the instance cannot be made, so that failure has its own way out. */
function instantiate({ module: code, url }: Code, wasmMemory: WebAssembly.Memory): Promise<HeadlensModule> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(asHeadlensError(error, "wasm-load", url));
    createModule({
      wasmMemory,
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(code, imports).then((instance) => done(instance, code)).catch(fail);
        return {};
      },
    }).then(resolve, fail);
  });
}

type Class<E> = new (...args: ConstructorParameters<typeof WasmEngine>) => E;

/** Makes an engine of this class in this thread, with a wasm memory of its own. */
export async function createEngine<E extends WasmEngine>(
  made: Class<E>, code: Promise<Code>, platform: Platform, prefetch?: string | URL,
): Promise<E> {
  const from = prefetch === undefined ? platform : prefetching(prefetch, platform);
  const compiled = await code;
  const opened = openThreads(compiled.threads - 1, platform);
  try {
    return await engineOf(made, compiled, opened, from);
  } catch (error) {
    for (const thread of opened) thread.terminate();
    throw error;
  }
}

async function engineOf<E extends WasmEngine>(
  Made: Class<E>, compiled: Code, opened: readonly OpenedThread[], platform: Platform,
): Promise<E> {
  const memory = makeMemory(compiled.threads > 1);
  const module = await instantiate(compiled, memory);
  const threads = await runThreads(opened, module, compiled, memory);
  const info: EngineInfo = {
    version: module.version(), simd: compiled.build, threads: 1 + threads.length, target: module.simdTarget(),
  };
  return new Made(module, info, platform, threads);
}
