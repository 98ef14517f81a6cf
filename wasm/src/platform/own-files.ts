// SPDX-License-Identifier: Apache-2.0
/** The files of the package that its scripts load, beside which they lie. Bundlers look for `new URL` with these very words. */
export const kOwnFiles = {
  "tokenizers.js": () => new URL("./tokenizers.js", import.meta.url),
  "headlens-simd.wasm": () => new URL("./headlens-simd.wasm", import.meta.url),
  "headlens-relaxed.wasm": () => new URL("./headlens-relaxed.wasm", import.meta.url),
  "headlens-simd-threads.wasm": () => new URL("./headlens-simd-threads.wasm", import.meta.url),
  "headlens-relaxed-threads.wasm": () => new URL("./headlens-relaxed-threads.wasm", import.meta.url),
  "models/tiny/config.json": () => new URL("./models/tiny/config.json", import.meta.url),
  "models/tiny/tokenizer.json": () => new URL("./models/tiny/tokenizer.json", import.meta.url),
  "models/tiny/model.safetensors": () => new URL("./models/tiny/model.safetensors", import.meta.url),
  "models/tiny-bert/config.json": () => new URL("./models/tiny-bert/config.json", import.meta.url),
  "models/tiny-bert/tokenizer.json": () => new URL("./models/tiny-bert/tokenizer.json", import.meta.url),
  "models/tiny-bert/model.safetensors": () => new URL("./models/tiny-bert/model.safetensors", import.meta.url),
  "models/tiny-translator/config.json": () => new URL("./models/tiny-translator/config.json", import.meta.url),
  "models/tiny-translator/tokenizer.json": () => new URL("./models/tiny-translator/tokenizer.json", import.meta.url),
  "models/tiny-translator/model.safetensors": () => new URL("./models/tiny-translator/model.safetensors", import.meta.url),
  "models/tiny-vit/config.json": () => new URL("./models/tiny-vit/config.json", import.meta.url),
  "models/tiny-vit/preprocessor_config.json": () => new URL("./models/tiny-vit/preprocessor_config.json", import.meta.url),
  "models/tiny-vit/model.safetensors": () => new URL("./models/tiny-vit/model.safetensors", import.meta.url),
} as const;

export type OwnFile = keyof typeof kOwnFiles;

/** Returns the package's file that a built-in model has under this name, undefined when the model is no built-in one or has no such file. */
export function builtInFile(model: string, name: string): OwnFile | undefined {
  const path = `models/${model}/${name}`;
  return Object.hasOwn(kOwnFiles, path) ? path as OwnFile : undefined;
}
