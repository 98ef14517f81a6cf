// SPDX-License-Identifier: Apache-2.0
/** A thread has its own instance of the engine's code on the engine's memory, and helps with what the engine computes. */
import type { ThreadTask } from "../platform/platform.js";

/** Threads need nothing but the memory for what they compute. Emscripten's JavaScript stays with the engine. */
function importsOf({ code, memory }: ThreadTask): WebAssembly.Imports {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module, name, kind } of WebAssembly.Module.imports(code)) {
    const missing = (): never => { throw new Error(`${module}.${name} is not there in a thread`); };
    (imports[module] ??= {})[name] = kind === "memory" ? memory : missing;
  }
  return imports;
}

/** Calls `ready` when the thread can work, and does not return while the engine lives. */
export function serve(task: ThreadTask, ready: () => void): void {
  const { exports } = new WebAssembly.Instance(task.code, importsOf(task));
  const table = Object.values(exports).find((item) => item instanceof WebAssembly.Table) as WebAssembly.Table;
  type Function = (...args: readonly number[]) => void;
  const call = (place: number, ...args: readonly number[]): void => (table.get(place) as Function)(...args);
  call(task.prepare, task.stack, task.stackBytes);
  ready();
  try {
    call(task.serve, task.worker);
  } catch (error) {
    call(task.giveUp);
    throw error;
  }
}
