// SPDX-License-Identifier: Apache-2.0
/** build.mjs bundles Emscripten's glue in. There is one for both builds, which differ in their .wasm only. */
declare module "headlens-glue" {
  const createModule: import("./module.js").ModuleFactory;
  export default createModule;
}
