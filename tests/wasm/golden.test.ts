// SPDX-License-Identifier: Apache-2.0
/**
 * Every golden case, which PyTorch computed (tests/golden/make.py), through the installed API, on both builds and both
 * backends.
 */
import { load, type AsyncEngine, type AttentionResult, type Engine } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toCamel } from "../../wasm/src/arguments/names.js";
import { scoreNorm } from "../compare.js";
import { caseOf, run, type AnyEngine, type Case, type Options } from "./cases.js";
import {
  expectClose,
  goldenCases,
  kBuilds,
  kEpsilon,
  kGolden,
  maxNorm,
  readSafetensors,
  type Safetensors,
} from "./support.js";

const kCases = goldenCases();

const readCase = ({ metadata, tensors }: Safetensors): Case => caseOf(
  metadata.op ?? "", JSON.parse(metadata.options ?? "{}") as Options,
  new Map([...tensors].filter(([name]) => !name.startsWith("expected."))));

const runWith = (engine: AnyEngine, problem: Case, more: Options): Promise<AttentionResult> =>
  run(engine, { ...problem, options: { ...problem.options, ...more } });

async function scoreNormOf(engine: AnyEngine, problem: Case): Promise<number> {
  if (problem.maker === "embedding") return 0;
  const { scores, biasedScores } = await runWith(engine, problem, {
    backend: "reference",
    stages: ["scores", "biasedScores"],
  });
  return scoreNorm(scores?.data, biasedScores?.data);
}

/** The allowed distance of each backend's results, in roundings of the largest result. */
const kFactors = { reference: 4, simd: 16 } as const;

describe.each(kBuilds)("golden cases on the %s build", (simd) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await load({ simd });
  });
  afterAll(() => engine.dispose());

  test("is the build asked for", () => {
    expect(engine.info).toMatchObject({ simd, threads: 1, target: "WASM" });
  });

  test.each(kCases)("%s", async (name) => {
    const file = readSafetensors(`${kGolden}/cases/${name}`);
    const problem = readCase(file);
    const norm = await scoreNormOf(engine, problem);
    const expected = [...file.tensors].filter(([key]) => key.startsWith("expected."));
    expect(expected.length).toBeGreaterThan(0);
    for (const [backend, factor] of Object.entries(kFactors)) {
      const results: Partial<Record<string, AttentionResult["output"]>> = await runWith(engine, problem, { backend });
      // The results are only those that were asked for.
      expect(Object.keys(results).sort()).toEqual(
        expected.map(([key]) => toCamel(key.slice("expected.".length))).sort(),
      );
      for (const [key, tensor] of expected) {
        const tolerance = factor * kEpsilon * (1 + norm) * Math.max(maxNorm(tensor.data), 1e-3);
        expectClose(`${backend} ${key}`, results[toCamel(key.slice("expected.".length))], tensor, tolerance);
      }
    }
  });
});

describe("golden cases in a worker", () => {
  let here: Engine;
  let there: AsyncEngine;
  beforeAll(async () => {
    here = await load({ simd: "baseline" });
    there = await load({ simd: "baseline", worker: true });
  });
  afterAll(() => {
    here.dispose();
    there.dispose();
  });

  test.each(kCases)("%s: the very same numbers", async (name) => {
    const problem = readCase(readSafetensors(`${kGolden}/cases/${name}`));
    expect(await run(there, problem)).toEqual(await run(here, problem));
  });
});
