// SPDX-License-Identifier: Apache-2.0
/** The files of the package that its scripts load, beside which they lie. Bundlers look for `new URL` with these very words. */
export const kOwnFiles = {
  "headlens-simd.wasm": () => new URL("./headlens-simd.wasm", import.meta.url),
  "headlens-relaxed.wasm": () => new URL("./headlens-relaxed.wasm", import.meta.url),
  "headlens-simd-threads.wasm": () => new URL("./headlens-simd-threads.wasm", import.meta.url),
  "headlens-relaxed-threads.wasm": () => new URL("./headlens-relaxed-threads.wasm", import.meta.url),
  "models/tiny/config.json": () => new URL("./models/tiny/config.json", import.meta.url),
  "models/tiny/tokenizer.json": () => new URL("./models/tiny/tokenizer.json", import.meta.url),
  "models/tiny/model.safetensors": () => new URL("./models/tiny/model.safetensors", import.meta.url),
} as const;

export type OwnFile = keyof typeof kOwnFiles;
