// SPDX-License-Identifier: Apache-2.0
/**
 * A repeated call takes a shorter path. Its results must equal those of an engine that makes the call for the first
 * time.
 */
import { load, type AttentionResult, type Engine, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { caseOf, forward, makeLayer, run, type Case, type Options } from "./cases.js";
import { goldenCases, kBuilds, kGolden, layerState, random, readSafetensors } from "./support.js";

function readCase(name: string): Case {
  const { metadata, tensors } = readSafetensors(`${kGolden}/cases/${name}`);
  const given = [...tensors].filter(([key]) => !key.startsWith("expected."));
  return caseOf(metadata.op ?? "", JSON.parse(metadata.options ?? "{}") as Options, new Map(given));
}

const negated = (tensor: TensorLike | undefined): TensorLike | undefined =>
  tensor && { ...tensor, data: Float32Array.from(tensor.data as Float32Array, (x) => -x) };

describe.each(kBuilds)("golden cases on the %s build", (simd) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await load({ simd });
  });
  afterAll(() => engine.dispose());

  test.each(goldenCases().filter((name) => !name.includes("embedding")))("%s", async (name) => {
    const problem = readCase(name);
    const inputs = problem.inputs as readonly (TensorLike | undefined)[];
    const other: Case = { ...problem, inputs: inputs.map(negated) };
    const expected = [await run(engine, other), await run(engine, problem)];
    const layer = await makeLayer(engine, problem);
    for (const i of [1, 0, 0, 1]) {
      expect(await forward(engine, layer, i === 0 ? other : problem)).toEqual(expected[i]);
    }
    layer?.dispose();
  });
});

describe("what comes again", () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await load();
  });
  afterAll(() => engine.dispose());

  const x = random(1, 1, 2, 6, 8), y = random(2, 1, 2, 6, 8);
  const inThree = (tensor: TensorLike): TensorLike => ({ data: tensor.data, shape: [2, 6, 8] });
  /** The result of an engine that did nothing else before. */
  async function fresh(call: (engine: Engine) => AttentionResult): Promise<AttentionResult> {
    const other = await load();
    const result = call(other);
    other.dispose();
    return result;
  }

  test("with other options, other shapes, other kinds of data", async () => {
    const calls: ((engine: Engine) => AttentionResult)[] = [
      (e) => e.scaledDotProductAttention(x, y, y),
      (e) => e.scaledDotProductAttention(y, x, x),
      (e) => e.scaledDotProductAttention(y, x, x, { isCausal: true }),
      (e) => e.scaledDotProductAttention(x, x, x, { isCausal: true }),
      (e) => e.scaledDotProductAttention(inThree(x), inThree(y), inThree(x)),
      (e) => e.scaledDotProductAttention({ ...x, data: Float64Array.from(x.data) }, { ...y, data: [...y.data] }, y),
      (e) => e.scaledDotProductAttention(x, { ...y, data: Int32Array.from(y.data, (v) => 10 * v) }, y),
      (e) => e.scaledDotProductAttention(x, y, y, { needWeights: true, stages: ["scores", "lse"] }),
      (e) => e.scaledDotProductAttention(x, y, y, { stages: ["headOutputs", "q"], rotary: "half" }),
    ];
    for (const call of calls) {
      const expected = await fresh(call);
      for (let i = 0; i < 3; ++i) expect(call(engine)).toEqual(expected);
    }
    for (const call of [...calls, ...calls]) expect(call(engine)).toEqual(await fresh(call));
  });

  test("with other masks, and lengths that are looked at", async () => {
    for (const [seed, length] of [6, 3, 6, 1].entries()) {
      const validLens = { data: Int32Array.of(length), shape: [1] };
      const attnMask = { data: Uint8Array.from({ length: 36 }, (_, i) => ((i * 7 + seed) % 3 ? 1 : 0)), shape: [6, 6] };
      for (const masks of [{ attnMask, validLens }, { attnMask }, { attnMask }, { validLens }, { validLens }]) {
        const call = (e: Engine): AttentionResult =>
          e.scaledDotProductAttention(x, y, y, { needWeights: true, ...masks });
        expect(call(engine)).toEqual(await fresh(call));
      }
    }
  });

  test("results are the caller's own", () => {
    const first = engine.scaledDotProductAttention(x, y, y);
    const copy = structuredClone(first);
    const second = engine.scaledDotProductAttention(x, y, y);
    second.output.data.fill(7);
    second.output.shape.push(9);
    const third = engine.scaledDotProductAttention(x, y, y);
    third.output.data.fill(8);
    expect(first).toEqual(copy);
    expect(engine.scaledDotProductAttention(x, y, y)).toEqual(copy);
  });

  test("memory that grows in between", async () => {
    const mine = await load();
    const call = (e: Engine): AttentionResult => e.scaledDotProductAttention(x, y, y, { needWeights: true });
    const expected = call(mine);
    expect(call(mine)).toEqual(expected);
    const large = random(3, 1, 1, 1 << 17, 64);
    mine.cachedAttention().forward(random(4, 1, 1, 1, 64), large, large, { isCausal: false });
    for (let i = 0; i < 2; ++i) expect(call(mine)).toEqual(expected);
    mine.dispose();
  });

  test("new parameters count", () => {
    const mha = engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    const states = [layerState(5, 8), layerState(6, 8)], input = random(7, 6, 8);
    const results = states.map((state) => {
      mha.loadStateDict(state);
      const first = mha.forward(input);
      expect(mha.forward(input)).toEqual(first);
      return first;
    });
    expect(results[0]).not.toEqual(results[1]);
    mha.loadStateDict(states[0] as Record<string, TensorLike>);
    expect(mha.forward(input)).toEqual(results[0]);
    const wrong = { ...states[1], "out_proj.weight": random(8, 8, 9) };
    expect(() => mha.loadStateDict(wrong)).toThrow(expect.objectContaining({ code: "shape" }) as Error);
    expect(mha.forward(input)).toEqual(results[0]);
    mha.dispose();
  });

  test("a call that fails, and the same call after it", () => {
    const headMask = (value: number): TensorLike => ({ data: Float32Array.of(1, value), shape: [2] });
    const call = (value: number): AttentionResult =>
      engine.scaledDotProductAttention(x, y, y, { headMask: headMask(value) });
    const expected = call(0.5);
    expect(call(0.5)).toEqual(expected);
    for (let i = 0; i < 2; ++i) {
      expect(() => call(Number.NaN)).toThrow(expect.objectContaining({ code: "value" }) as Error);
      expect(call(0.5)).toEqual(expected);
      expect(call(0.5)).toEqual(expected);
    }
  });

  test("a getter that makes the same call, or disposes of the layer, in the middle of one", () => {
    const mha = engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    mha.loadStateDict(layerState(5, 8));
    const input = random(7, 6, 8), other = random(8, 6, 8);
    const expected = mha.forward(input);
    let inner: AttentionResult | undefined;
    const nested = {
      get data() {
        inner = mha.forward(other);
        return input.data;
      },
      shape: [6, 8],
    };
    expect(mha.forward(nested)).toEqual(expected);
    expect(mha.forward(nested)).toEqual(expected);
    expect(inner).toEqual(mha.forward(other));
    const last = {
      get data() {
        mha.dispose();
        return input.data;
      },
      shape: [6, 8],
    };
    expect(() => mha.forward(last)).toThrow(expect.objectContaining({ code: "disposed" }) as Error);
  });
});
