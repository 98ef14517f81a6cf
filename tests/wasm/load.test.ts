// SPDX-License-Identifier: Apache-2.0
/** load(): which build, from where, and that every way to fail rejects with an error that says what and where. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { load, type AsyncEngine, type Engine } from "headlens";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { chooseBuild, detectFeatures } from "../../wasm/src/start/features.js";
import { expectError, kRoot, random } from "./support.js";
import { serve, type Server } from "./server.js";

const kDist = `${kRoot}dist`;

describe("the choice of a build", () => {
  test("is a function of the features and the wish", () => {
    const both = { simd: true, relaxedSimd: true };
    const plain = { simd: true, relaxedSimd: false };
    expect(chooseBuild(both, "auto")).toBe("relaxed");
    expect(chooseBuild(both, "baseline")).toBe("baseline");
    expect(chooseBuild(both, "relaxed")).toBe("relaxed");
    expect(chooseBuild(plain, "auto")).toBe("baseline");
    expect(chooseBuild(plain, "baseline")).toBe("baseline");
  });

  test("fails where there is no such build", () => {
    const failure = (message: RegExp): unknown =>
      expect.objectContaining({ code: "unsupported", message: expect.stringMatching(message) as string });
    expect(() => chooseBuild({ simd: true, relaxedSimd: false }, "relaxed")).toThrow(failure(/simd is "relaxed"/));
    expect(() => chooseBuild({ simd: false, relaxedSimd: false }, "auto")).toThrow(failure(/no WebAssembly SIMD/));
  });

  test("sees what this engine can, and what it cannot", () => {
    expect(detectFeatures()).toEqual({ simd: true, relaxedSimd: true });
    const ask = `import(${JSON.stringify(pathToFileURL(`${kDist}/node.js`).href)}).then(async ({ load }) => console.log((await load()).info.simd))`;
    // The runner's own flags are not passed on: a plain Node says for itself.
    const probe =
      "WebAssembly.validate(Uint8Array.of(0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,19,1,17,0,65,0,253,15,65,0,253,15,65,0,253,15,253,133,2,11))";
    const run = (script: string): string =>
      execFileSync(process.execPath, ["-e", script], { encoding: "utf8", env: {} }).trim();
    const isRelaxed = run(`console.log(${probe})`) === "true";
    expect(run(ask)).toBe(isRelaxed ? "relaxed" : "baseline");
  });

  test("load takes the best by itself", async () => {
    const engine = await load();
    expect(engine.info).toEqual({ version: "0.1.0", simd: "relaxed", threads: 1, target: "WASM" });
    engine.dispose();
  });

  test("the version is the package's", async () => {
    const engine = await load();
    const { version } = JSON.parse(readFileSync(`${kRoot}package.json`, "utf8")) as { version: string };
    expect(engine.info.version).toBe(version);
    engine.dispose();
  });
});

describe.each([false, true])("options of load, worker: %s", (worker) => {
  test.each([
    [{ simd: "fast" }, "option", /simd is "fast", expected "auto", "baseline" or "relaxed"/],
    [{ threads: 0 }, "option", /threads is 0, expected a whole number from 1 to 64/],
    [{ threads: 65 }, "option", /threads is 65/],
    [{ threads: 1.5 }, "option", /threads is 1.5/],
    [{ threads: "2" }, "option", /threads is "2"/],
    [{ wasmUrl: 7 }, "option", /wasmUrl is 7/],
    [{ wasmURL: "x" }, "option", /unknown option "wasmURL"; did you mean wasmUrl\? Expected one of /],
    [{ wasmUrl: "http://[" }, "value", /wasmUrl is .*, expected a URL/],
  ] as const)("%j", (options, code, message) =>
    expectError(() => load({ ...options, worker } as never), code, message),
  );
});

test.each([false, true])("the engine's code can be given as bytes and in a URL, worker: %s", async (worker) => {
  const bytes = readFileSync(join(kDist, "headlens-simd.wasm"));
  const url = `data:application/wasm;base64,${bytes.toString("base64")}`;
  for (const given of [{ wasm: new Uint8Array(bytes) }, { wasm: new Uint8Array(bytes).buffer }, { wasmUrl: url }]) {
    const engine = await load({ ...given, worker });
    expect(engine.info).toMatchObject({ simd: "baseline", threads: 1 });
    expect((await engine.alibiSlopes(2)).data).toHaveLength(2);
    engine.dispose();
  }
  await expectError(() => load({ wasm: bytes.subarray(0, 1000), worker }), "wasm-load", "wasm: ");
  await expectError(() => load({ wasm: "headlens.wasm" as never, worker }), "option", "wasm", "a Uint8Array");
});

test("worker must be a boolean", () =>
  expectError(() => load({ worker: "yes" } as never), "option", /worker is "yes"/));

/** A folder with both .wasm files, served with whatever faults a test asks for. */
describe.each([false, true])("where the wasm comes from, worker: %s", (worker) => {
  let folder: string;
  let server: Server;
  let type: string | undefined;
  let isMissing = false;
  const wasm = "headlens-simd.wasm";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headlens-load-"));
    server = await serve(folder, (path, response) => {
      if (isMissing) {
        response.writeHead(404).end();
        return true;
      }
      if (type === undefined) return false;
      response.writeHead(200, { "content-type": type }).end(readFileSync(join(folder, path)));
      return true;
    });
  });
  afterEach(() => {
    type = undefined;
    isMissing = false;
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  let count = 0;
  /** A URL of its own for each test, for what was compiled once is remembered by URL. */
  function place(content?: Uint8Array): string {
    const name = `${worker}-${count++}`;
    mkdirSync(join(folder, name));
    if (content) writeFileSync(join(folder, name, wasm), content);
    else cpSync(`${kDist}/${wasm}`, join(folder, name, wasm));
    return `${server.url}${name}`;
  }
  const start = (wasmUrl: string | URL): Promise<Engine | AsyncEngine> => load({ simd: "baseline", wasmUrl, worker });

  async function expectWorks(engine: Engine | AsyncEngine): Promise<void> {
    const x = random(1, 2, 3);
    const { output } = await engine.scaledDotProductAttention(x, x, x);
    expect(output.shape).toEqual([2, 3]);
    engine.dispose();
  }

  test("a folder's URL, with or without its slash", async () => {
    const url = place();
    await expectWorks(await start(url));
    await expectWorks(await start(new URL(`${url}/`)));
  });

  test("one file's URL, as bundlers give it, says which build it is", async () => {
    const url = place();
    const engine = await load({ wasmUrl: `${url}/${wasm}?hash`, worker });
    expect(engine.info.simd).toBe("baseline");
    await expectWorks(engine);
  });

  test("a file: URL", async () => expectWorks(await start(pathToFileURL(`${kDist}/`))));

  test("a server that knows no wasm type", async () => {
    type = "application/octet-stream";
    await expectWorks(await start(place()));
  });

  test("404, and then not any more: only success is remembered", async () => {
    const url = place();
    isMissing = true;
    await expectError(() => start(url), "wasm-load", `${url}/${wasm}`, "404");
    isMissing = false;
    await expectWorks(await start(url));
    const asked = server.requests.length;
    await expectWorks(await start(url));
    // The compiled code is kept, for workers too.
    expect(server.requests.length).toBe(asked);
  });

  test("a page instead of the file", async () => {
    type = "text/html";
    const url = place(new TextEncoder().encode("<!doctype html><title>Not found</title>"));
    await expectError(() => start(url), "wasm-load", `${url}/${wasm}`, "HTML page", "wasmUrl");
  });

  test("broken bytes, streamed or not", async () => {
    const broken = Uint8Array.from(readFileSync(`${kDist}/${wasm}`).subarray(0, 5000));
    const url = place(broken);
    await expectError(() => start(url), "wasm-load", url);
    type = "application/octet-stream";
    await expectError(() => start(place(broken)), "wasm-load", server.url);
  });

  test("another module's bytes", async () => {
    // Valid, but without a single export: "\0asm", version 1.
    await expectError(() => start(place(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))), "wasm-load", server.url);
  });

  test("a server that is not there", () =>
    expectError(() => start("http://127.0.0.1:9/"), "wasm-load", "http://127.0.0.1:9/"));
});

test.each(["node.js", "index.js"])("importing %s does nothing: nothing is fetched, compiled or printed", (entry) => {
  const script = `
    const forbid = (object, name) => { object[name] = () => { console.log(name, "was called"); }; };
    for (const name of ["compile", "compileStreaming", "instantiate", "instantiateStreaming", "validate"]) forbid(WebAssembly, name);
    forbid(globalThis, "fetch");
    forbid(globalThis, "Worker");
    await import(${JSON.stringify(pathToFileURL(`${kDist}/${entry}`).href)});`;
  expect(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", stdio: "pipe", env: {} }),
  ).toBe("");
});
