// SPDX-License-Identifier: Apache-2.0
// Fills dist/, the npm package's content, from the two wasm builds in build/ and the TypeScript sources: node wasm/build.mjs
//
// ESM only. Every script stands in dist/ itself, shared chunks included, because `new URL("./…", import.meta.url)` is relative to
// the script it ends up in. Libraries are bundled in, so the package has no dependencies and its scripts work unbundled in a page.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);

const kBuilds = { simd: "build/wasm", relaxed: "build/wasm-relaxed" };

/** Emscripten's glue. The two builds differ in their .wasm only; should that change, this is where it is noticed. */
function readGlue() {
  const [simd, relaxed] = Object.values(kBuilds).map((folder) => {
    if (!existsSync(`${folder}/headlens.mjs`)) throw new Error(`${folder}/headlens.mjs is missing: build the presets wasm and wasm-relaxed first`);
    return readFileSync(`${folder}/headlens.mjs`, "utf8");
  });
  if (simd !== relaxed) throw new Error("the glue of the two wasm builds differs: one cannot stand for both");
  // The loader hands the compiled code over, so this default is never used; bundlers would look for the file.
  return simd.replace(/new URL\(["']headlens\.wasm["'],\s*import\.meta\.url\)\.href/, '"headlens.wasm"');
}

const gluePlugin = {
  name: "headlens-glue",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^headlens-glue$/ }, () => ({ path: "headlens.mjs", namespace: "glue" }));
    onLoad({ filter: /.*/, namespace: "glue" }, () => ({ contents: readGlue(), loader: "js" }));
  },
};

async function bundle() {
  const entryPoints = ["index", "node", "worker", "worker-node"].map((name) => ({ in: `wasm/src/${name}.ts`, out: name }));
  if (existsSync("web/elements/index.ts")) entryPoints.push({ in: "web/elements/index.ts", out: "element" });
  const result = await build({
    entryPoints, outdir: "dist", chunkNames: "[name]-[hash]",
    bundle: true, splitting: true, format: "esm", target: "es2022", platform: "browser", external: ["node:*"],
    minify: true, legalComments: "none", metafile: true, plugins: [gluePlugin], logLevel: "warning",
  });
  return Object.keys(result.metafile.inputs);
}

/** The texts of the licences of everything bundled in. */
function writeNotices(inputs) {
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : "see the package"}\n`;
  });
  writeFileSync("dist/THIRD-PARTY-LICENSES.txt", notices.join(`\n${"-".repeat(80)}\n\n`));
}

function runTool(packageName, script, ...args) {
  execFileSync(process.execPath, [join("node_modules", packageName, script), ...args], { stdio: ["ignore", "inherit", "inherit"] });
}

/** Declarations: only those that the public entry reaches. */
function writeTypes() {
  runTool("typescript", "bin/tsc", "-p", "wasm/tsconfig.json");
  const pending = ["index.d.ts"];
  for (const file of pending) {
    const text = readFileSync(`build/types/${file}`, "utf8");
    mkdirSync(dirname(`dist/${file}`), { recursive: true });
    writeFileSync(`dist/${file}`, text);
    for (const [, name] of text.matchAll(/from "\.\/([\w-]+)\.js"/g)) {
      if (!pending.includes(`${name}.d.ts`)) pending.push(`${name}.d.ts`);
    }
  }
}

function copyFiles() {
  for (const [name, folder] of Object.entries(kBuilds)) cpSync(`${folder}/headlens.wasm`, `dist/headlens-${name}.wasm`);
  for (const model of ["tiny"]) {
    for (const file of ["config.json", "tokenizer.json", "model.safetensors", "README.md"]) {
      cpSync(`web/models/${model}/${file}`, `dist/models/${model}/${file}`);
    }
  }
}

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist", { recursive: true });
writeNotices(await bundle());
writeTypes();
copyFiles();
if (existsSync("web/playground")) runTool("vite", "bin/vite.js", "build");
