// SPDX-License-Identifier: Apache-2.0
// Fills dist/ with the content of the npm package: node web/build.mjs
// The engine comes from wasm/build.mjs. The elements, the built-in models and the playground are added here.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { parseSync } from "oxc-parser";
import { buildEngine, bundle, copyTypes, readCode, runTool } from "../wasm/build.mjs";
import { kStyled, tightened } from "./tight-styles.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** This folder replaces dist/ once it is complete. */
const kOut = "build/package";

/** The folders of the built-in models. Each has a card. */
const kModels = readdirSync("web/models").filter((name) => existsSync(`web/models/${name}/card.json`));

/** The one script that carries everything carries this model only. */
const kCarried = ["config.json", "tokenizer.json", "model.safetensors"].map((file) => `models/tiny/${file}`);

/** The elements' scripts can be imported where there is no DOM. */
const kInject = { inject: ["web/elements/dom.ts"] };

/** Classic scripts have no addresses of other files, and no source maps, since they are meant to be copied. */
const kClassic = { ...kInject, format: "iife", sourcemap: false, logOverride: { "empty-import-meta": "silent" } };

/** Resolves the import `name` as `resolve` says. */
const resolving = (name, resolve, load) => ({
  name,
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^${name}$`) }, resolve);
    if (load) onLoad({ filter: /.*/, namespace: name }, load);
  },
});

const kTightStyles = {
  name: "tight-styles",
  setup({ onLoad }) {
    onLoad({ filter: kStyled }, ({ path }) => ({ contents: tightened(readFileSync(path, "utf8")), loader: "ts" }));
  },
};

/** The elements import the engine's script, which lies beside theirs. */
const kEngineBeside = resolving("headlens", () => ({ path: "./index.js", external: true }));

/** Compresses a file into text, as wasm/src/standalone.ts unpacks it. */
const packed = (bytes) => deflateRawSync(bytes, { level: 9 }).toString("base64");

/** The plugins of the one script that carries its worker, its engine and the model. */
async function carryingPlugins(drawing) {
  const { outputFiles: [worker] } = await bundle(kOut, { worker: "wasm/src/worker/worker-carried.ts" }, { ...kClassic, inject: [], write: false });
  const files = { "headlens-simd.wasm": packed(readCode()) };
  for (const name of kCarried) files[name] = packed(readFileSync(`web/${name}`));
  const contents = `export const worker = ${JSON.stringify(worker.text)}, files = ${JSON.stringify(files)};`;
  const carried = "headlens-carried";
  const drawn = "headlens-drawing";
  return [
    resolving("headlens", () => ({ path: join(process.cwd(), "wasm/src/standalone.ts") })),
    resolving(carried, () => ({ path: "carried.js", namespace: carried }), () => ({ contents, loader: "js" })),
    resolving(drawn, () => ({ path: "drawing.js", namespace: drawn }), () => ({ contents: `export const drawing = ${JSON.stringify(drawing)};`, loader: "js" })),
  ];
}

/** Bundles the elements: as modules that share chunks, and as classic scripts. Returns the files that went into them. */
async function bundleElements() {
  const modules = { element: "web/elements/element.ts", arrays: "web/elements/arrays.ts", lesson: "web/learn/element.ts" };
  const bundled = [
    await bundle(kOut, modules, { ...kInject, splitting: true, plugins: [kTightStyles, kEngineBeside] }),
    await bundle(kOut, { "headlens.arrays": "web/elements/classic.ts" }, { ...kClassic, plugins: [kTightStyles] }),
  ];
  const plugins = await carryingPlugins(readFileSync(`${kOut}/headlens.arrays.js`, "utf8"));
  bundled.push(await bundle(kOut, { "headlens.standalone": "web/elements/standalone.ts" }, { ...kClassic, plugins: [kTightStyles, ...plugins] }));
  const names = "AttentionMap, HeadlensError, load";
  writeFileSync(`${kOut}/standalone.js`, `import "./headlens.standalone.js";\nexport const { ${names} } = globalThis.headlens;\n`);
  return bundled.flatMap(({ inputs }) => inputs);
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

/**
 * Returns declarations without Lit. Lit is bundled, so users of the package do not have it, and see the elements as
 * HTML elements. Members that a class inherits from Lit, and its own templates and life cycle, are left out.
 */
function withoutLit(text) {
  const { body } = parseSync("element.d.ts", text).program;
  const imports = body.filter(({ type, source }) => type === "ImportDeclaration" && /^lit\b/.test(source.value));
  const names = imports.flatMap(({ specifiers }) => specifiers.map(({ local }) => local.name));
  const litName = new RegExp(`import\\("lit|\\b(${names.join("|") || "lit"})\\b`);
  const mentionsLit = ({ start, end }) => litName.test(text.slice(start, end));
  const edits = imports.map((node) => [body[body.indexOf(node) - 1]?.end ?? 0, node.end, ""]);
  const types = body.map((node) => node.declaration ?? node).filter(({ body: all }) => Array.isArray(all?.body));
  for (const type of types) {
    const bases = type.superClass ? [type.superClass] : type.extends ?? [];
    if (bases.some(mentionsLit)) {
      const isElement = bases.some(({ start, end }) => text.slice(start, end) === "LitElement");
      edits.push([text.lastIndexOf("extends", bases[0].start), type.body.start, isElement ? "extends HTMLElement " : ""]);
    }
    let before = type.body.start + 1; // a member goes with the comment above it
    for (const member of type.body.body) {
      if (mentionsLit(member)) edits.push([before, member.end, ""]);
      before = member.end;
    }
  }
  edits.sort(([a], [b]) => b - a);
  return edits.reduce((rest, [start, end, by]) => rest.slice(0, start) + by + rest.slice(end), text).trimStart();
}

/** Writes the declarations of the elements. */
function writeTypes() {
  runTool("typescript", "bin/tsc", "-p", "web/tsconfig.package.json");
  const entries = { element: "elements/element", arrays: "elements/arrays", standalone: "elements/standalone", lesson: "learn/element" };
  for (const [name, source] of Object.entries(entries)) {
    copyTypes("build/types-element", `${kOut}/web`, source, withoutLit);
    writeFileSync(`${kOut}/${name}.d.ts`, `export * from "./web/${source}.js";\n`);
  }
}

/** Writes the pages of the book, with figures that the engine of the package computes, for Vite to build. */
async function writeBook() {
  rmSync("build/learn", { recursive: true, force: true });
  // Packages are taken as they are installed, and the engine as it was just built, not as TypeScript finds their types.
  await bundle("build/learn", { prerender: "web/learn/prerender.ts" }, {
    platform: "node", packages: "external", tsconfigRaw: {}, minify: false, splitting: true,
  });
  execFileSync(process.execPath, ["build/learn/prerender.js", "build/learn/pages"], { stdio: "inherit" });
}

function copyModels() {
  for (const model of kModels) cpSync(`web/models/${model}`, `${kOut}/models/${model}`, { recursive: true });
}

rmSync(kOut, { recursive: true, force: true });
writeNotices([...await buildEngine(kOut), ...await bundleElements()]);
writeTypes();
copyModels();
rmSync("dist", { recursive: true, force: true });
renameSync(kOut, "dist");
await writeBook();
runTool("vite", "bin/vite.js", "build");
runTool("vite", "bin/vite.js", "build", "--mode", "book");
