// SPDX-License-Identifier: Apache-2.0
// Fills dist/, the npm package's content, from the two modules in build/wasm/ and the TypeScript sources: node wasm/build.mjs
//
// ESM only. Every script stands in dist/ itself, shared chunks included, because `new URL("./…", import.meta.url)` is relative to
// the script it ends up in. Libraries are bundled in, so the package has no dependencies and its scripts work unbundled in a page.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);

/** This folder takes the place of dist/ when all of it is there. */
const kOut = "build/package";

const kModules = ["simd", "relaxed"];

/** Returns the code for engines without threads, whose memory is their own. It differs in the one bit that says whether memory is shared. */
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
  number(); // the section's bytes
  for (let left = number(); left > 0; --left) {
    skip(), skip(); // the two names
    const kind = code[at++];
    if (kind === kMemory) {
      const own = Uint8Array.from(code);
      if (!(own[at] & kShared)) throw new Error("the modules' memory is not shared: is -sWASM_WORKERS missing?");
      own[at] ^= kShared;
      return own;
    }
    if (kind !== 0) throw new Error(`the modules import something of kind ${kind}`);
    number(); // the function's type
  }
  throw new Error("the modules import no memory");
}

/** Reads Emscripten's glue. The two modules differ in their code only. Should that change, it is noticed here. */
function readGlue() {
  const [simd, relaxed] = kModules.map((name) => {
    const file = `build/wasm/headlens-${name}.mjs`;
    if (!existsSync(file)) throw new Error(`${file} is missing: build the preset wasm first`);
    return readFileSync(file, "utf8").replaceAll(`headlens-${name}.wasm`, "headlens.wasm");
  });
  if (simd !== relaxed) throw new Error("the glue of the two wasm modules differs: one cannot stand for both");
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

/** Bundles `entries` (output name to source) and returns the files they are made of. */
async function bundle(entries, splitting) {
  const { metafile } = await build({
    entryPoints: entries, splitting, outdir: kOut, chunkNames: "[name]-[hash]",
    bundle: true, format: "esm", target: "es2022", platform: "browser", external: ["node:*"],
    minify: true, legalComments: "none", metafile: true, plugins: [gluePlugin], logLevel: "warning",
  });
  return Object.keys(metafile.inputs);
}

/** The entries share chunks, so that what a page does not use is not loaded. A worker is one file: it uses all of it at once. */
async function bundleAll() {
  const entries = { index: "wasm/src/index.ts", node: "wasm/src/node.ts", element: "web/elements/index.ts" };
  const scripts = { worker: ["worker", "worker-node"], start: ["thread", "thread-node"] };
  const workers = Object.fromEntries(Object.entries(scripts).flatMap(([room, names]) =>
    names.map((name) => [name, `wasm/src/${room}/${name}.ts`])));
  return [...await bundle(entries, true), ...await bundle(workers, false)];
}

const kInTheWasm = `In the .wasm files:
Highway, copyright The Highway Project Authors (Apache-2.0 or BSD-3-Clause)
JSON for Modern C++, copyright Niels Lohmann (MIT)
Eigen, copyright its authors (MPL-2.0; source: https://eigen.tuxfamily.org)
Emscripten and its C and C++ libraries: copyright the Emscripten authors (MIT or NCSA), musl's authors (MIT),
and the LLVM Project (Apache-2.0 with LLVM exceptions)
`;

/** Writes the texts of the licences of everything bundled in. */
function writeNotices(inputs) {
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : "see the package"}\n`;
  });
  notices.unshift(kInTheWasm);
  writeFileSync(`${kOut}/THIRD-PARTY-LICENSES.txt`, notices.join(`\n${"-".repeat(80)}\n\n`));
}

function runTool(packageName, script, ...args) {
  execFileSync(process.execPath, [join("node_modules", packageName, script), ...args], { stdio: ["ignore", "inherit", "inherit"] });
}

/** Copies index.d.ts and every declaration that it reaches. */
function copyTypes(from, to, edit = (text) => text) {
  const pending = ["index"];
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

/**
 * Returns declarations without Lit. It is bundled in, so whoever uses the package has none: to them its elements are HTML elements.
 * Whatever a class inherits from Lit or shows of it (its templates, its life cycle) is left out.
 */
function withoutLit(text) {
  const source = ts.createSourceFile("element.d.ts", text, ts.ScriptTarget.Latest, true);
  const isLit = (node) => ts.isImportDeclaration(node) && /^"lit\b/.test(node.moduleSpecifier.getText());
  const imports = source.statements.filter(isLit);
  const named = imports.flatMap((node) => [...node.importClause?.namedBindings?.elements ?? []]);
  const names = named.map((element) => element.name.text);
  const mentionsLit = (node) => new RegExp(`import\\("lit|\\b(${names.join("|") || "lit"})\\b`).test(node.getText());
  const edits = imports.map((node) => [node, ""]);
  const isType = (node) => ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node);
  for (const node of source.statements.filter(isType)) {
    for (const clause of (node.heritageClauses ?? []).filter(mentionsLit)) {
      edits.push([clause, /\bLitElement\b/.test(clause.getText()) ? " extends HTMLElement" : ""]);
    }
    edits.push(...node.members.filter(mentionsLit).map((member) => [member, ""]));
  }
  edits.sort(([a], [b]) => b.pos - a.pos);
  return edits.reduce((rest, [node, by]) => rest.slice(0, node.pos) + by + rest.slice(node.end), text).trimStart();
}

/** Writes the declarations of the two public entries. */
function writeTypes() {
  runTool("typescript", "bin/tsc", "-p", "wasm/tsconfig.json");
  copyTypes("build/types", kOut);
  runTool("typescript", "bin/tsc", "-p", "wasm/tsconfig.element.json");
  copyTypes("build/types-element", `${kOut}/elements`, withoutLit);
  writeFileSync(`${kOut}/element.d.ts`, 'export * from "./elements/index.js";\n');
}

function copyFiles() {
  for (const name of kModules) {
    const code = readFileSync(`build/wasm/headlens-${name}.wasm`);
    writeFileSync(`${kOut}/headlens-${name}-threads.wasm`, code);
    writeFileSync(`${kOut}/headlens-${name}.wasm`, withOwnMemory(code));
  }
  for (const model of ["tiny"]) {
    for (const file of ["config.json", "tokenizer.json", "model.safetensors", "README.md"]) {
      cpSync(`web/models/${model}/${file}`, `${kOut}/models/${model}/${file}`);
    }
  }
}

rmSync(kOut, { recursive: true, force: true });
writeNotices(await bundleAll());
writeTypes();
copyFiles();
rmSync("dist", { recursive: true, force: true });
renameSync(kOut, "dist");
runTool("vite", "bin/vite.js", "build");
