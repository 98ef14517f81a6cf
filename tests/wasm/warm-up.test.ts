// SPDX-License-Identifier: Apache-2.0
/**
 * Measures that make the first call fast change no result: warming up, fetching files early, all maps in one answer,
 * and code shared with workers.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load, type AsyncEngine, type Engine } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve, type Server } from "./server.js";
import { expectError, kBuilds, kRoot, random } from "./support.js";

const kText = "The cat sat on the mat because it was tired.";

/** The numbers of everything that the warm-up runs. */
async function compute(engine: Engine | AsyncEngine): Promise<unknown[]> {
  const model = await engine.loadModel("tiny");
  const seen = await model.attend(kText);
  const x = random(1, 1, 4, 20, 16);
  const attention = await engine.scaledDotProductAttention(x, x, x, { isCausal: true, needWeights: true });
  const results = [attention, await seen.map(3, 2), await seen.logits(), await seen.allPixels({ theme: "dark" })];
  model.dispose();
  return results;
}

describe.each([false, true])("worker: %s", (worker) => {
  const start = (): Promise<Engine | AsyncEngine> => load({ worker });

  test("results are the same before, while and after the engine warms up", async () => {
    const engine = await start();
    const before = await compute(engine);
    const warming = engine.warmUp();
    expect(await compute(engine)).toEqual(before);
    await warming;
    expect(await compute(engine)).toEqual(before);
    engine.dispose();
  });

  test("it keeps no memory", async () => {
    const engine = await start();
    await engine.warmUp();
    const before = await engine.heapBytes();
    await Promise.all([engine.warmUp(), engine.warmUp()]);
    for (let i = 0; i < 18; ++i) await engine.warmUp();
    // Reused blocks may be some bytes longer than before, a few hundred in all, which go up and down. A leak would add
    // up.
    expect(await engine.heapBytes()).toBeLessThan(before + 512);
    engine.dispose();
  });

  test("an engine that is disposed while it warms up rejects it", async () => {
    const engine = await start();
    const warming = engine.warmUp();
    const later = expectError(() => warming, "disposed");
    engine.dispose();
    await later;
    await expectError(() => engine.warmUp(), "disposed");
  });

  test("all maps at once are each head's pixels", async () => {
    const engine = await start();
    const model = await engine.loadModel("tiny");
    const seen = await model.attend(kText);
    for (const options of [undefined, { theme: "dark", min: 0, max: 0.5 }] as const) {
      const all = await seen.allPixels(options);
      expect(all.map((row) => row.length)).toEqual(Array<number>(model.info.layers).fill(model.info.heads));
      for (const [layer, row] of all.entries()) {
        for (const [head, image] of row.entries()) expect(image).toEqual(await seen.pixels(layer, head, options));
      }
    }
    await expectError(() => seen.allPixels({ theme: "grey" as never }), "option", /theme/);
    seen.dispose();
    await expectError(() => seen.allPixels(), "disposed");
    engine.dispose();
  });
});

describe.each(kBuilds)("the %s build", (simd) => {
  test("warms up", async () => {
    const engine = await load({ simd });
    expect(await engine.warmUp()).toBeUndefined();
    engine.dispose();
  });
});

describe.each([false, true])("files asked for early, worker: %s", (worker) => {
  let folder: string;
  let server: Server;
  let missing = "";
  /** Answers that are held back. */
  let held: (() => void)[] | undefined;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headlens-prefetch-"));
    for (const name of ["a", "b"]) cpSync(`${kRoot}web/models/tiny`, join(folder, name), { recursive: true });
    cpSync(`${kRoot}dist/headlens-simd.wasm`, join(folder, "headlens-simd.wasm"));
    server = await serve(folder, (path, response) => {
      if (held && path.endsWith(".wasm")) {
        const code = readFileSync(join(folder, path));
        held.push(() => response.writeHead(200, { "content-type": "application/wasm" }).end(code));
        return true;
      }
      if (missing === "" || path !== missing) return false;
      response.writeHead(404).end();
      return true;
    });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const asked = (path: string): number => server.requests.filter((request) => request === path).length;

  test("each once, and only for the first loadModel of it", async () => {
    const engine = await load({ worker, prefetch: `${server.url}a` });
    const model = await engine.loadModel(new URL(`${server.url}a/`));
    expect(model.info.layers).toBe(4);
    for (const file of ["config.json", "tokenizer.json", "model.safetensors"]) expect(asked(`/a/${file}`)).toBe(1);
    const other = await engine.loadModel(`${server.url}b`);
    const again = await engine.loadModel(`${server.url}a`);
    expect(other.info.name).toBe("b");
    expect(again.info).toEqual(model.info);
    expect(asked("/a/model.safetensors")).toBe(2);
    engine.dispose();
  });

  test("they are under way before the engine's own code has come", async () => {
    held = [];
    const before = asked("/a/model.safetensors");
    const loading = load({ worker, simd: "baseline", wasmUrl: `${server.url}${worker}/..`, prefetch: `${server.url}a` });
    await expect.poll(() => asked("/a/model.safetensors")).toBe(before + 1);
    await expect.poll(() => held?.length).toBe(1);
    for (const answer of held) answer();
    held = undefined;
    const engine = await loading;
    await engine.loadModel(`${server.url}a`);
    expect(asked("/a/model.safetensors")).toBe(before + 1);
    engine.dispose();
  });

  test("a failure is told by the loadModel that takes it, and the next one tries again", async () => {
    missing = "/a/tokenizer.json";
    const engine = await load({ worker, prefetch: `${server.url}a` });
    await expectError(() => engine.loadModel(`${server.url}a`), "model-load", "tokenizer.json", "404");
    missing = "";
    expect((await engine.loadModel(`${server.url}a`)).info.layers).toBe(4);
    engine.dispose();
  });

  test("a loadModel that is aborted takes nothing along that another one waits for", async () => {
    const engine = await load({ worker, prefetch: `${server.url}a` });
    const abort = new AbortController();
    const first = engine.loadModel(`${server.url}a`, { signal: abort.signal });
    const second = engine.loadModel(`${server.url}a`);
    const aborted = expectError(() => first, "aborted");
    abort.abort();
    await aborted;
    expect((await second).info.layers).toBe(4);
    engine.dispose();
  });

  test("what is no source is refused", async () => {
    await expectError(() => load({ worker, prefetch: 7 as never }), "option", /prefetch is 7/);
    await expectError(() => load({ worker, prefetch: "http://[" }), "value", /prefetch is .*, expected a URL/);
    const engine = await load({ worker, prefetch: "tiny" });
    expect((await engine.loadModel("tiny")).info.name).toBe("tiny");
    engine.dispose();
  });
});
