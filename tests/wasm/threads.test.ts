// SPDX-License-Identifier: Apache-2.0
/** Engines with several threads: they give the same numbers and errors as with one thread, and leave nothing behind. */
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { load, type AsyncEngine, type Engine, type LoadOptions } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { caseOf, run, type AnyEngine, type Options } from "./cases.js";
import {
  bits, expectError, goldenCases, kBuilds, kGolden, kRoot, layerState, random, readSafetensors, zeros,
} from "./support.js";

const kDist = `${kRoot}dist`;

async function attend(engine: AnyEngine, ...sizes: readonly number[]): Promise<unknown[]> {
  const [heads, groups, tokens, width] = sizes;
  const q = random(1, 1, heads ?? 0, tokens ?? 0, width ?? 0);
  const k = random(2, 1, groups ?? 0, tokens ?? 0, width ?? 0), v = random(3, 1, groups ?? 0, tokens ?? 0, width ?? 0);
  const enableGqa = heads !== groups;
  const results: unknown[] = [];
  for (const options of [
    {}, { isCausal: true }, { needWeights: true }, { isCausal: true, averageAttnWeights: true },
    { windowLeft: 40, alibi: true }, { dropoutP: 0.2, seed: 7 }, { normalizer: "sparsemax", needWeights: true }, { stages: ["lse", "maskedScores"] },
  ] as const) {
    results.push(bits(await engine.scaledDotProductAttention(q, k, v, { ...options, enableGqa })));
  }
  return results;
}

async function layers(engine: AnyEngine): Promise<unknown[]> {
  const layer = await engine.multiheadAttention({ embedDim: 192, numHeads: 6 });
  await layer.loadStateDict(layerState(4, 192));
  const x = random(5, 3, 150, 192), results: unknown[] = [];
  for (let i = 0; i < 3; ++i) {
    results.push(bits(await layer.forward(x, { averageAttnWeights: false, isCausal: i > 0 })));
  }
  layer.dispose();
  return results;
}

/** Everything that a model returns for a text, and for the next token. */
async function model(engine: AnyEngine): Promise<unknown[]> {
  const tiny = await engine.loadModel("tiny");
  const seen = await tiny.attend("The cat sat on the mat, and the dog lay down beside it.".repeat(6));
  const decoding = await tiny.startDecoding();
  const results = [
    await seen.map(0, 0), await seen.map(3, 7, { pool: [16, 16] }), await seen.logits(), await seen.pixels(1, 2),
    (await decoding.step("The cat sat")).logits, await decoding.map(2, 1),
    await tiny.rankHeads(["The cat sat on the mat. The cat sat on"], { metrics: ["previous", "induction"] }),
  ];
  tiny.dispose();
  return results.map(bits);
}

describe.each(kBuilds)("several threads on the %s build", (simd) => {
  const engines: AnyEngine[] = [];
  let single: Engine;
  beforeAll(async () => {
    single = await load({ simd });
    engines.push(await load({ simd, threads: 2 }), await load({ simd, threads: 5 }));
    engines.push(await load({ simd, threads: 3, worker: true }));
  });
  afterAll(() => {
    for (const engine of [single, ...engines]) engine.dispose();
  });

  test("are as many as were asked for", () => {
    expect([single, ...engines].map(({ info }) => info)).toEqual(
      [1, 2, 5, 3].map((threads) => ({ version: single.info.version, simd, threads, target: "WASM" })));
  });

  test.each([[4, 4, 300, 64], [8, 2, 130, 33], [2, 2, 1, 16], [3, 1, 700, 128]])(
    "attention of %i heads on %i, %i tokens, width %i has the same bits", async (...sizes) => {
      const expected = await attend(single, ...sizes);
      for (const engine of engines) expect(await attend(engine, ...sizes)).toEqual(expected);
    });

  test("layers have the same bits", async () => {
    const expected = await layers(single);
    for (const engine of engines) expect(await layers(engine)).toEqual(expected);
  });

  test("models have the same bits", async () => {
    const expected = await model(single);
    for (const engine of engines) expect(await model(engine)).toEqual(expected);
  });

  test("golden cases have the same bits", async () => {
    for (const name of goldenCases()) {
      const { metadata, tensors } = readSafetensors(`${kGolden}/cases/${name}`);
      const given = new Map([...tensors].filter(([key]) => !key.startsWith("expected.")));
      const problem = caseOf(metadata.op ?? "", JSON.parse(metadata.options ?? "{}") as Options, given);
      expect(bits(await run(engines[0] as Engine, problem)), name).toEqual(bits(await run(single, problem)));
    }
  });

  test("small calls after large ones, over and over", async () => {
    const large = random(6, 1, 4, 260, 32), small = random(7, 1, 2, 5, 8);
    const expected = [large, small].map((x) => bits(single.scaledDotProductAttention(x, x, x, { isCausal: true })));
    for (let i = 0; i < 40; ++i) {
      for (const engine of engines) {
        const got: unknown[] = [];
        for (const x of [large, small]) {
          got.push(bits(await engine.scaledDotProductAttention(x, x, x, { isCausal: true })));
        }
        expect(got).toEqual(expected);
      }
    }
  });

  test("memory grows under them", async () => {
    const long = zeros(1, 1, 6000, 16);
    for (const engine of engines) {
      const { weights } = await engine.scaledDotProductAttention(long, long, long, { needWeights: true });
      expect(weights?.data.at(-1)).toBeCloseTo(1 / 6000, 9);
      expect((await attend(engine, 2, 2, 64, 16))[0]).toEqual((await attend(single, 2, 2, 64, 16))[0]);
    }
  });

  test("errors are what they are with one", async () => {
    for (const engine of engines) {
      await expectError(() => engine.scaledDotProductAttention(zeros(2, 3), zeros(2, 4), zeros(2, 4)), "shape", /3.*4|4.*3/);
      await expectError(() => engine.multiheadAttention({ embedDim: 10, numHeads: 3 }), "shape", "10", "3");
      await expectError(() => engine.scaledDotProductAttention(zeros(9e4, 1), zeros(9e4, 1), zeros(9e4, 1), { needWeights: true }), "memory");
      expect((await attend(engine, 2, 2, 64, 16))[0]).toEqual((await attend(single, 2, 2, 64, 16))[0]);
    }
  });
});

describe("threads and what they need", () => {
  const start = (options: LoadOptions): Promise<Engine | AsyncEngine> => load(options);
  const at = (name: string): URL => pathToFileURL(`${kDist}/${name}`);

  test("a wasmUrl that names a file says whether there can be threads", async () => {
    for (const [name, threads] of [["headlens-simd.wasm", 1], ["headlens-simd-threads.wasm", 2]] as const) {
      const engine = await start({ wasmUrl: at(name), threads: 2 });
      expect(engine.info).toMatchObject({ simd: "baseline", threads });
      engine.dispose();
    }
  });

  test("a wasmUrl that names a folder has all builds", async () => {
    const engine = await start({ wasmUrl: at(""), threads: 2, simd: "relaxed" });
    expect(engine.info).toMatchObject({ simd: "relaxed", threads: 2 });
    engine.dispose();
  });

  test.each([false, true])("a script ends with its engine, disposed or not, worker: %s", (worker) => {
    const script = (end: string): string => `
      const { load } = await import(${JSON.stringify(at("node.js").href)});
      const engine = await load({ threads: 3, worker: ${worker} });
      const x = { data: new Float32Array(4 * 200 * 16), shape: [4, 200, 16] };
      const { output } = await engine.scaledDotProductAttention(x, x, x);
      ${end}
      console.log(engine.info.threads, output.shape.join());`;
    for (const end of ["", "engine.dispose();"]) {
      const args = ["--input-type=module", "-e", script(end)];
      const stdout = execFileSync(process.execPath, args, { encoding: "utf8", env: {}, timeout: 30_000 });
      expect(stdout).toBe("3 4,200,16\n");
    }
  });
});
