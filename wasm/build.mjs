// SPDX-License-Identifier: Apache-2.0
// Makes the engine's part of the npm package from the two modules in build/wasm/ and the TypeScript sources. web/build.mjs calls it, and
// adds the elements, the model and the playground.
//
// Every script is in the package's one folder itself, also shared chunks, because `new URL("./…", import.meta.url)` is relative to the
// script that contains it. Libraries are bundled, so the package has no dependencies and a page can use its scripts without a bundler.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const kModules = ["simd", "relaxed"];

/**
 * Returns the code for engines without threads, which have memory of their own. It differs in the one bit that says
 * whether memory is shared.
 */
function withOwnMemory(code) {
  let at = 8; // after the magic number and the version
  const number = () => { // LEB128
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      value |= (code[at] & 0x7f) << shift;
      if (code[at++] < 0x80) return value;
    }
  };
  const skip = () => {
    const bytes = number();
    at += bytes;
  };
  const kImports = 2, kMemory = 2, kShared = 2;
  while (code[at++] !== kImports) skip();
  number(); // the size of the section
  for (let left = number(); left > 0; --left) {
    skip(); // the two names
    skip();
    const kind = code[at++];
    if (kind === kMemory) {
      const own = Uint8Array.from(code);
      if (!(own[at] & kShared)) throw new Error("the modules' memory is not shared: is -sWASM_WORKERS missing?");
      own[at] ^= kShared;
      return own;
    }
    if (kind !== 0) throw new Error(`the modules import something of kind ${kind}`);
    number(); // the type of the function
  }
  throw new Error("the modules import no memory");
}

/**
 * Reads Emscripten's glue code. The two modules differ in their WebAssembly only, and this fails should that change.
 */
function readGlue() {
  const [simd, relaxed] = kModules.map((name) => {
    const file = `build/wasm/headlens-${name}.mjs`;
    if (!existsSync(file)) throw new Error(`${file} is missing: build the preset wasm first`);
    return readFileSync(file, "utf8").replaceAll(`headlens-${name}.wasm`, "headlens.wasm");
  });
  if (simd !== relaxed) throw new Error("the glue of the two wasm modules differs: one cannot stand for both");
  // The loader passes in the compiled code, so this default is never used, but bundlers would look for the file.
  return simd.replace(/new URL\(["']headlens\.wasm["'],\s*import\.meta\.url\)\.href/, '"headlens.wasm"');
}

const gluePlugin = {
  name: "headlens-glue",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^headlens-glue$/ }, () => ({ path: "headlens.mjs", namespace: "glue" }));
    onLoad({ filter: /.*/, namespace: "glue" }, () => ({ contents: readGlue(), loader: "js" }));
  },
};

/** Bundles `entries` (output name to source) into the folder `out`. Returns the files that went into them, and what came out. */
export async function bundle(out, entries, options) {
  const { metafile, outputFiles } = await build({
    entryPoints: entries, outdir: out, chunkNames: "[name]-[hash]",
    bundle: true, format: "esm", target: "es2022", platform: "browser", external: ["node:*"],
    // Traces lead to the sources, which are in the repository. Their paths lead out of `out`, which is one folder deeper than dist/.
    sourcemap: "linked", sourcesContent: false, sourceRoot: "package/",
    minify: true, legalComments: "none", metafile: true, logLevel: "warning", ...options,
    plugins: [gluePlugin, ...options?.plugins ?? []],
  });
  return { inputs: Object.keys(metafile.inputs), outputFiles };
}

export function runTool(packageName, script, ...args) {
  execFileSync(process.execPath, [join("node_modules", packageName, script), ...args], { stdio: ["ignore", "inherit", "inherit"] });
}

/** Copies the declarations of `entry` and of every file that it reaches. */
export function copyTypes(from, to, entry, edit = (text) => text) {
  const pending = [entry];
  for (const name of pending) {
    const text = edit(readFileSync(`${from}/${name}.d.ts`, "utf8"));
    mkdirSync(dirname(`${to}/${name}`), { recursive: true });
    writeFileSync(`${to}/${name}.d.ts`, text);
    for (const [, path] of text.matchAll(/"(\.[\w./-]+)\.js"/g)) {
      const next = join(dirname(name), path);
      if (!pending.includes(next)) pending.push(next);
    }
  }
}

/** The code of the engine without threads, in the build that runs everywhere. */
export const readCode = () => withOwnMemory(readFileSync("build/wasm/headlens-simd.wasm"));

/**
 * Fills the folder `out` with the engine: its scripts, its .wasm files and its types. The entries share chunks, so that a page loads only
 * the code that it uses. A worker is one file, since bundlers copy it as it is; it fetches the rarer tokenizers by their address. Returns the
 * files that went into the scripts.
 */
export async function buildEngine(out) {
  const entries = { index: "wasm/src/index.ts", node: "wasm/src/node.ts" };
  const alone = {
    worker: "wasm/src/worker/worker.ts", tokenizers: "wasm/src/tokenizer/kinds.ts",
    "worker-node": "wasm/src/worker/worker-node.ts",
  };
  const bundled = [await bundle(out, entries, { splitting: true }), await bundle(out, alone)];
  for (const name of kModules) {
    const code = readFileSync(`build/wasm/headlens-${name}.wasm`);
    writeFileSync(`${out}/headlens-${name}-threads.wasm`, code);
    writeFileSync(`${out}/headlens-${name}.wasm`, withOwnMemory(code));
  }
  runTool("typescript", "bin/tsc", "-p", "wasm/tsconfig.json");
  copyTypes("build/types", out, "index");
  return bundled.flatMap(({ inputs }) => inputs);
}
