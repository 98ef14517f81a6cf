// SPDX-License-Identifier: Apache-2.0
/** Emscripten's glue, bundled in by build.mjs: one for both builds, which differ in their .wasm only. */
declare module "headlens-glue" {
  const createModule: import("./module.js").ModuleFactory;
  export default createModule;
}

/** Comlink types this file under another extension. */
declare module "comlink/dist/esm/node-adapter.mjs" {
  export { default } from "comlink/dist/esm/node-adapter";
}
