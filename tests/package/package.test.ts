// SPDX-License-Identifier: Apache-2.0
/**
 * The package's tarball: its files, its size, and that it works when it is installed in Node, with Vite and in plain
 * pages.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build as bundle, transform } from "esbuild";
import { parseSync } from "oxc-parser";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { type Browser, type Page } from "puppeteer-core";
import { build, createServer, type ViteDevServer } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kBuiltIn, kModels } from "../cards.js";
import { kIsolation, serve, type Server } from "../wasm/server.js";
import { firefoxPage, holds, launchShell, launchFirefox } from "../web/browser.js";
import { installPackage, kRoot, type Project } from "./project.js";

let project: Project;
let dist: string;
beforeAll(() => {
  project = installPackage();
  dist = join(project.folder, "node_modules/headlens/dist");
});
afterAll(() => project.remove());

const scripts = (): string[] => readdirSync(dist).filter((name) => name.endsWith(".js"));
const read = (name: string): string => readFileSync(join(dist, name), "utf8");

describe("the tarball", () => {
  test("holds what the exports name, the licences, and nothing that is not for users", () => {
    const names = [...project.files.keys()];
    for (const name of [
      "LICENSE",
      "README.md",
      "CHANGELOG.md",
      "package.json",
      "dist/index.js",
      "dist/index.d.ts",
      "dist/node.js",
      "dist/worker.js",
      "dist/worker-node.js",
      "dist/tokenizers.js",
      "dist/arrays.js",
      "dist/arrays.d.ts",
      "dist/element.js",
      "dist/element.d.ts",
      "dist/lesson.js",
      "dist/lesson.d.ts",
      "dist/headlens.arrays.js",
      "dist/headlens.standalone.js",
      "dist/standalone.d.ts",
      "dist/headlens-simd.wasm",
      "dist/headlens-relaxed.wasm",
      "dist/headlens-simd-threads.wasm",
      "dist/headlens-relaxed-threads.wasm",
      "dist/THIRD-PARTY-LICENSES.txt",
      ...kBuiltIn.flatMap((model) => readdirSync(join(kModels, model), { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
        .map((file) => `dist/models/${relative(kModels, join(file.parentPath, file.name))}`)),
    ])
      expect(names).toContain(name);
    const kinds = [
      /^(LICENSE|README\.md|CHANGELOG\.md|package\.json)$/,
      /^dist\/[a-z-]+-[A-Z0-9]{8}\.js(\.map)?$/, // what is loaded later, and what scripts share
      /^dist\/(worker(-node)?|tokenizers|index|node|element|arrays|lesson|standalone)\.js(\.map)?$/,
      /^dist\/headlens\.(arrays|standalone)\.js$/,
      /^dist\/((files|types|types\/options|web\/[a-z]+(\/[a-z]+)*)\/)?[\w-]+\.d\.ts$/,
      /^dist\/headlens-(simd|relaxed)(-threads)?\.wasm$/,
      /^dist\/THIRD-PARTY-LICENSES\.txt$/,
      /^dist\/models\/[\w-]+\/(examples\/)?[\w.]+$/,
    ];
    expect(names.filter((name) => !kinds.some((kind) => kind.test(name)))).toEqual([]);
  });

  test("has no dependencies", () => {
    const manifest = JSON.parse(readFileSync(join(dist, "../package.json"), "utf8")) as Record<string, unknown>;
    for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "bundledDependencies"])
      expect(manifest[kind]).toBeUndefined();
    expect(readdirSync(join(project.folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "headlens",
    ]);
  });

  test("names the licence of all that is bundled in", () => {
    for (const name of ["lit", "lit-html"])
      expect(read("THIRD-PARTY-LICENSES.txt")).toContain(`\n${name} `);
  });

  test("keeps to its budget", () => {
    const compressed = (name: string): number => brotliCompressSync(readFileSync(join(dist, name))).length;
    // The path of the folder decides the order of functions in WebAssembly, and with it some 200 bytes of the size.
    const budgets: Record<string, number> = {
      "worker.js": 35_000,
      "headlens.arrays.js": 58_500,
      "headlens-simd.wasm": 236_000,
      "headlens-relaxed.wasm": 237_500,
    };
    for (const [name, limit] of Object.entries(budgets)) expect(compressed(name), name).toBeLessThan(limit);
    const models = [...project.files]
      .filter(([name]) => name.startsWith("dist/models/"))
      .reduce((sum, [, size]) => sum + size, 0);
    expect(models).toBeLessThan(9e6);
    const standalone = gzipSync(read("headlens.standalone.js")).length; // it carries a model once more
    expect(project.packedSize - models - standalone).toBeLessThan(1_910_000);
  });

  /** The compressed size of a script and of what it imports at once. */
  function loaded(name: string, seen = new Set<string>()): number {
    if (seen.has(name)) return 0;
    seen.add(name);
    const imported = [...read(name).matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+)"/g)].map(([, other = ""]) => other);
    const own = brotliCompressSync(readFileSync(join(dist, name))).length;
    return own + imported.reduce((sum, other) => sum + loaded(other, seen), 0);
  }

  test("has scripts as large as its document says, and the one for arrays of at most 43 kB", () => {
    const rows = readFileSync(join(kRoot, "wasm/README.md"), "utf8").matchAll(/^\| `dist\/([\w.-]+)` \|[^|]*\| ([\d,]+) \|/gm);
    const sizes = [...rows].map(([, name = "", size = ""]) => [name, Number(size.replace(",", ""))] as const);
    expect(sizes.length).toBeGreaterThan(6);
    for (const [name, size] of sizes) {
      const bytes = loaded(name);
      expect(Math.abs(bytes / 1000 - size), `${name}: ${bytes}`).toBeLessThan(Math.max(1, 0.02 * size));
    }
    expect(loaded("arrays.js")).toBeLessThan(43_000);
  });

  test("publint finds nothing", async () => {
    const { messages, pkg } = await publint({ pkgDir: join(project.folder, "node_modules/headlens"), strict: true });
    expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
  });

  test("arethetypeswrong finds nothing", () => {
    const cli = join(kRoot, "node_modules/@arethetypeswrong/cli/dist/index.js");
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [cli, project.tarball, "--profile", "esm-only", "--format", "json"],
      { encoding: "utf8" },
    );
    expect(stderr).toBe("");
    const { analysis } = JSON.parse(stdout) as {
      analysis: { problems: { resolutionKind?: string }[]; types: unknown };
    };
    expect(analysis.types).toBeTruthy();
    // The profile ignores resolvers that cannot load ES modules.
    const cjsOnly = ["node10", "node16-cjs"];
    expect(analysis.problems.filter(({ resolutionKind }) => !cjsOnly.includes(resolutionKind ?? ""))).toEqual([]);
    expect(status).toBe(0);
  });
});

describe("the scripts", () => {
  test("have no top-level await", async () => {
    for (const name of scripts())
      await transform(read(name), { format: "esm", supported: { "top-level-await": false }, logLevel: "silent" });
    // The check itself detects one.
    await expect(
      transform("await 0", { format: "esm", supported: { "top-level-await": false }, logLevel: "silent" }),
    ).rejects.toThrow();
  });

  test("have no eval, no new Function, and no address of a server", () => {
    for (const name of scripts()) {
      expect(read(name).match(/\beval\s*\(|new\s+Function\b|\bFunction\s*\(/g) ?? [], name).toEqual([]);
      // Names of XML vocabularies look like addresses, but are not.
      expect(
        (read(name).match(/https?:\/\/[^\s"'`)]*/g) ?? []).filter((url) => !url.startsWith("http://www.w3.org/")),
        name,
      ).toEqual([]);
    }
  });

  test("import nothing but each other; those for the web nothing of Node's", async () => {
    for (const name of scripts()) {
      const { module } = parseSync(name, read(name));
      const imported = [
        ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
        ...module.staticExports.flatMap(({ entries }) => entries.map((entry) => entry.moduleRequest?.value ?? "./")),
        ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => read(name).slice(start, end))
          .flatMap((from) => /^["'`](.*)["'`]$/.exec(from)?.[1] ?? []),
      ];
      for (const from of imported) {
        expect(from, name).toMatch(
          /^(node|worker-node)\b/.test(name) ? /^(\.\/|node:)/ : /^\.\//,
        );
      }
    }
    // The bundle for browsers has no exceptions, so an import of node: would fail.
    await bundle({
      entryPoints: ["index.js", "element.js", "arrays.js", "lesson.js", "worker.js"].map((name) => join(dist, name)),
      bundle: true,
      format: "esm",
      write: false,
      outdir: "out",
    });
  });
});

describe("types", () => {
  const kWeb = { lib: ["es2022", "dom"], files: ["consumer.ts", "bare.ts"] };
  const kBare = { lib: ["es2022"], files: ["bare.ts"] };
  test.each([
    ["bundler", kWeb, false], ["nodenext", kWeb, true], ["bundler", kBare, true], ["nodenext", kBare, false],
  ] as const)(
    "check with moduleResolution %s, %j and exactOptionalPropertyTypes %s, all declarations included",
    (moduleResolution, { lib, files }, exactOptionalPropertyTypes) => {
      writeFileSync(
        join(project.folder, "tsconfig.json"),
        JSON.stringify({
          compilerOptions: {
            strict: true,
            exactOptionalPropertyTypes,
            noEmit: true,
            skipLibCheck: false,
            skipDefaultLibCheck: true, // TypeScript's own declarations take longer than all others
            types: [],
            target: "es2022",
            lib,
            module: moduleResolution === "bundler" ? "esnext" : "nodenext",
            moduleResolution,
          },
          files,
        }),
      );
      const tsc = join(kRoot, "node_modules/typescript/bin/tsc");
      const { stdout } = spawnSync(process.execPath, [tsc, "-p", project.folder], { encoding: "utf8" });
      expect(stdout).toBe("");
    },
  );
});

interface Use {
  readonly info: { readonly simd: string; readonly target: string; readonly threads: number };
  readonly weights: readonly number[];
  readonly tokens: readonly string[];
  readonly map: readonly number[];
  readonly refusal: readonly unknown[];
}

interface Report {
  readonly page: Use;
  readonly worker: Use;
}

/** Runs the page's script in Node, in the project, with a substitute for the page. */
function reportOfNode(): Report {
  const main = pathToFileURL(join(project.folder, "main.js")).href;
  const script = `
    const dataset = {};
    globalThis.document = { body: { dataset } };
    await import(${JSON.stringify(main)});
    while (!dataset.report) await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(dataset.report);`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: project.folder,
    encoding: "utf8",
    env: {},
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return JSON.parse(stdout) as Report;
}

function expectSame(got: Report, expected: Report): void {
  for (const place of ["page", "worker"] as const) {
    expect(got[place].tokens).toEqual(expected.page.tokens);
    expect(got[place].refusal).toEqual([true, "shape", expected.page.refusal[2]]);
    for (const what of ["weights", "map"] as const) {
      expect(got[place][what]).toHaveLength(expected.page[what].length);
      got[place][what].forEach((value, i) =>
        expect(Math.abs(value - (expected.page[what][i] ?? NaN))).toBeLessThan(1e-5),
      );
    }
  }
}

describe("installed", () => {
  test("Node: works, says nothing on stderr, and finds the .wasm files by name", () => {
    const report = reportOfNode();
    expectSame(report, report);
    expect(report.page.tokens.join("")).toBe("<s>The cat sat on the mat.");
    expect(report.page.map[0]).toBe(1);
    const resolve =
      "console.log(import.meta.resolve('headlens/headlens-simd.wasm'), import.meta.resolve('headlens/package.json'))";
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", resolve], {
      cwd: project.folder,
      encoding: "utf8",
      env: {},
    });
    for (const url of output.trim().split(" ")) expect(existsSync(new URL(url))).toBe(true);
  });
});

let built: Promise<string> | undefined;

/** Builds the project with Vite, once for both browsers, and returns the folder that it fills. */
function builtOnce(): Promise<string> {
  built ??= build({ root: project.folder, configFile: false, logLevel: "error", build: { outDir: "built" } })
    .then(() => join(project.folder, "built"));
  return built;
}

const kBrowsers = { Chromium: launchShell, Firefox: launchFirefox };

describe.each(Object.entries(kBrowsers))("in %s, under a strict policy", (name, launch) => {
  let browser: Browser;
  let server: Server;
  let isWorkerMissing = false;
  let expected: Report;
  beforeAll(async () => {
    browser = await launch();
    expected = reportOfNode();
    server = await serve(project.folder, (path, response) => {
      const isMissing = isWorkerMissing && path.endsWith("/worker.js");
      if (isMissing) response.writeHead(404).end();
      // A page without a bundler names the script itself.
      const isPlain = path === "/main.js";
      if (isPlain) {
        const script = readFileSync(join(project.folder, "main.js"), "utf8").replace(
          '"headlens"',
          '"./node_modules/headlens/dist/index.js"',
        );
        response.writeHead(200, { "content-type": "text/javascript" }).end(script);
      }
      return isMissing || isPlain;
    });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  /** Opens a page and collects everything that must not happen in it. */
  async function open(url: string): Promise<{ page: Page; faults: string[] }> {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("console", (message) => {
      if (/^(error|warn)/.test(message.type())) faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(url);
    return { page, faults };
  }

  async function reportOf(url: string): Promise<Report> {
    const hasReported = (): boolean => document.body.dataset.report !== undefined;
    const opening = (): ReturnType<typeof open> => open(url);
    const { page, faults } = await (name === "Firefox" ? firefoxPage(opening, hasReported) : opening());
    await holds(page, hasReported);
    const report = JSON.parse(await page.evaluate(() => document.body.dataset.report ?? "")) as Report & {
      error?: string;
    };
    expect(report.error).toBeUndefined();
    expect(faults).toEqual([]);
    await page.close();
    return report;
  }

  test("a plain page: <script type=module>, no bundler", async () => {
    const report = await reportOf(server.url);
    expectSame(report, expected);
    // Relaxed SIMD came with Chromium 114 and Firefox 145; Debian 12 was released with 140.
    const [, product, major] = /^(\w+)\/(\d+)/.exec(await browser.version()) ?? [];
    const hasRelaxed = Number(major) >= (product?.toLowerCase() === "firefox" ? 145 : 114);
    expect(report.page.info).toMatchObject({ simd: hasRelaxed ? "relaxed" : "baseline", target: "WASM" });
    expect(report.page.info).toMatchObject({ threads: 1 });
    // Only the files that are used are fetched: the page's engine and the worker each load one build.
    const wasm = `/headlens-${hasRelaxed ? "relaxed" : "simd"}.wasm`;
    expect(server.requests.filter((path) => path.endsWith(".wasm") && !path.endsWith(wasm))).toEqual([]);
  });

  test("vite build: hashed .wasm files and worker, and the page works", async () => {
    const folder = await builtOnce();
    const assets = readdirSync(join(folder, "assets"));
    for (const pattern of [
      /^headlens-simd-(?!threads-)[\w-]+\.wasm$/,
      /^headlens-relaxed-(?!threads-)[\w-]+\.wasm$/,
      /^headlens-simd-threads-[\w-]+\.wasm$/,
      /^headlens-relaxed-threads-[\w-]+\.wasm$/,
      /^worker-[\w-]+\.js$/,
    ]) {
      expect(
        assets.filter((asset) => pattern.test(asset)),
        String(pattern),
      ).toHaveLength(1);
    }
    expect(assets.filter((asset) => asset.endsWith(".safetensors"))).toHaveLength(kBuiltIn.length);
    const served = await serve(folder);
    const isolated = await serve(folder, undefined, kIsolation);
    const plain = await reportOf(served.url);
    expectSame(plain, expected);
    expect(plain.page.info.threads).toBe(1);
    const shared = await reportOf(isolated.url);
    expectSame(shared, expected);
    for (const { info } of [shared.page, shared.worker]) expect(info.threads).toBe(Math.min(availableParallelism(), 4));
    await served.close();
    await isolated.close();
  });

  test("vite's development server", async () => {
    // The client in the page must know the port from the start.
    const free = await serve(project.folder);
    await free.close();
    const dev: ViteDevServer = await createServer({
      root: project.folder,
      configFile: false,
      logLevel: "error",
      server: { port: Number(new URL(free.url).port), strictPort: true, host: "127.0.0.1" },
    });
    await dev.listen();
    expectSame(await reportOf(dev.resolvedUrls?.local[0] ?? ""), expected);
    await dev.close();
  });

  test("the element, from one script tag", async () => {
    const { page, faults } = await open(`${server.url}element.html`);
    await holds(page, () => Boolean(document.querySelector("attention-map")?.shadowRoot?.querySelector("canvas")));
    expect(faults).toEqual([]);
    await page.close();
  });

  test.each(["README.md", "wasm/README.md"])("the HTML of %s", async (readme) => {
    const examples = [...readFileSync(join(kRoot, readme), "utf8").matchAll(/^```html\n(.*?)^```$/gms)];
    expect(examples.length).toBeGreaterThan(0);
    const body = examples.map(([, html]) => html).join("");
    writeFileSync(join(project.folder, "readme.html"), `<!doctype html>\n<title>${readme}</title>\n${body}`);
    const { page, faults } = await open(`${server.url}readme.html`);
    await holds(page, () => [...document.querySelectorAll("attention-map")].every((element) => element.shadowRoot?.querySelector("canvas, [part~=sentence]")));
    expect(faults).toEqual([]);
    await page.close();
  });

  test("files that are missing are errors, never silence", async () => {
    const { page } = await open(`${server.url}empty.html`);
    // It is passed as text, since the test runner rewrites an import() that it sees.
    const codeOf = (options: object): Promise<unknown> =>
      page.evaluate(`
      import("/node_modules/headlens/dist/index.js").then(({ load }) => load(${JSON.stringify(options)}))
        .then(() => "no error", ({ code, message }) => [code, message])`);
    expect(await codeOf({ wasmUrl: "/nowhere/" })).toEqual([
      "wasm-load",
      expect.stringMatching(/nowhere\/headlens-(relaxed|simd)\.wasm: .*404/),
    ]);
    expect(await codeOf({ wasmUrl: "/nowhere/", worker: true })).toEqual([
      "wasm-load",
      expect.stringMatching(/nowhere\/headlens-(relaxed|simd)\.wasm: .*404/),
    ]);
    expect(await codeOf({ wasmUrl: "/index.html?x.wasm" })).toEqual(["wasm-load", expect.stringMatching(/HTML page/)]);
    isWorkerMissing = true;
    expect(await codeOf({ worker: true })).toEqual(["wasm-load", expect.stringMatching(/worker/)]);
    isWorkerMissing = false;
    await page.close();
  });
});

test("every file of the package is readable by whoever installed it", () => {
  for (const path of project.files.keys()) expect(statSync(join(dist, "..", path)).mode & 0o444, path).toBe(0o444);
});
