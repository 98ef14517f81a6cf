// SPDX-License-Identifier: Apache-2.0
/** build.mjs bundles Emscripten's glue in. There is one for both builds, which differ in their .wasm only. */
declare module "headlens-glue" {
  const createModule: import("./module.js").ModuleFactory;
  export default createModule;
}

/** A script that carries all of its files has these: the worker's source, and the files as text that standalone.ts unpacks. */
declare module "headlens-carried" {
  export const worker: string;
  export const files: Readonly<Record<string, string>>;
}
