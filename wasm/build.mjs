// SPDX-License-Identifier: Apache-2.0
// Fills dist/ with the content of the npm package, from the two modules in build/wasm/ and the TypeScript sources: node
// wasm/build.mjs
//
// The package has ES modules only. Every script is in dist/ itself, also shared chunks, because `new URL("./…",
// import.meta.url)` is relative to the script that contains it. Libraries are bundled, so the package has no
// dependencies and a page can use its scripts without a bundler.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);

/** This folder replaces dist/ once it is complete. */
const kOut = "build/package";

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
    skip(), skip(); // the two names
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

/** Bundles `entries` (output name to source) and returns the files that went into them. */
async function bundle(entries, splitting) {
  const { metafile } = await build({
    entryPoints: entries, splitting, outdir: kOut, chunkNames: "[name]-[hash]",
    bundle: true, format: "esm", target: "es2022", platform: "browser", external: ["node:*"],
    // Traces lead to the sources, which are in the repository. Their paths lead out of kOut, which is one folder deeper than dist/.
    sourcemap: "linked", sourcesContent: false, sourceRoot: "package/",
    minify: true, legalComments: "none", metafile: true, plugins: [gluePlugin], logLevel: "warning",
  });
  return Object.keys(metafile.inputs);
}

/**
 * The entries share chunks, so that a page loads only the code that it uses. A worker is one file, since it uses
 * everything at once.
 */
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

/** Writes the licences of everything that is bundled. */
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

/** Copies the declarations of `entry` and of every file that it reaches. */
function copyTypes(from, to, entry, edit = (text) => text) {
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

/**
 * Returns declarations without Lit. Lit is bundled, so users of the package do not have it, and see the elements as
 * HTML elements. Members that a class inherits from Lit, and its own templates and life cycle, are left out.
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
  copyTypes("build/types", kOut, "index");
  runTool("typescript", "bin/tsc", "-p", "wasm/tsconfig.element.json");
  copyTypes("build/types-element", `${kOut}/web`, "elements/index", withoutLit);
  writeFileSync(`${kOut}/element.d.ts`, 'export * from "./web/elements/index.js";\n');
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
